"""libcst trees of the parts of a file that matter, with positions, walked without recursion.

A unit is one simple statement, one outermost function, or the module with its functions taken out. Lines and columns
are 1-based code points of the file, whatever part of it was parsed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from torchperf_lint.deep_stack import with_a_deep_stack
from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.outlines.records import Outline, Position

if TYPE_CHECKING:
    from libcst.metadata import CodeRange

_NOT_CODE = (
    "whitespace",
    "lpar",
    "rpar",
    "leading_lines",
    "lines_after",
    "header",
    "footer",
    "comma",
    "semicolon",
    "equal",
    "dot",
    "colon",
    "newline",
    "trailing",
    "lbracket",
    "rbracket",
    "lbrace",
    "rbrace",
    "indent",
    "encoding",
    "default_",
    "has_trailing",
    "first_line",
    "operator",
    "asynchronous",
)
_FIELDS: dict[type[cst.CSTNode], tuple[str, ...]] = {}


class TooDeepToLocate(CannotCheck):
    """This Python's limit on recursion in C ends libcst's writing of code; our own walks go on."""


def _positions_of(module: cst.Module) -> dict[cst.CSTNode, CodeRange]:
    """libcst's own positions, without the wrapper's second walk over the tree."""
    from libcst.metadata import PositionProvider

    provider = PositionProvider()
    provider._gen_impl(module)
    return provider._computed  # type: ignore[return-value]


class Unit:
    """One parsed part of a file."""

    def __init__(self, text: str, first_line: int) -> None:
        self.offset = first_line - 1
        try:
            self.module = cst.parse_module(text)
        except cst.ParserSyntaxError as error:
            raise CannotCheck(f"libcst cannot parse it: {error.message}", error.raw_line + self.offset) from None

    @cached_property
    def _positions(self) -> dict[cst.CSTNode, CodeRange]:
        try:
            return self._resolved()
        except (RecursionError, KeyError):  # libcst loses the one to the other while it leaves its `with` blocks
            try:
                return with_a_deep_stack(self._resolved)
            except RecursionError:
                raise TooDeepToLocate("nested too deeply for libcst to say where its parts stand") from None

    def _resolved(self) -> dict[cst.CSTNode, CodeRange]:
        return _positions_of(self.module)

    def span(self, node: cst.CSTNode) -> tuple[Position, Position]:
        """Start and end of a node in the file."""
        found = self._positions[node]
        start, end = found.start, found.end
        return (start.line + self.offset, start.column + 1), (end.line + self.offset, end.column + 1)

    def call_at(self, start: Position, name: str) -> cst.Call | None:
        """The call of something called `name` that begins at a place; of several, the innermost."""
        return self._calls.get((start, name))

    def calls_named(self, name: str) -> list[cst.Call]:
        """The calls of something called `name`, in source order, outer before inner; needs no positions."""
        return [node for node in self.nodes if isinstance(node, cst.Call) and _called_name(node) == name]

    @cached_property
    def _calls(self) -> dict[tuple[Position, str], cst.Call]:
        calls = [node for node in self.nodes if isinstance(node, cst.Call)]
        return {(self.span(node)[0], _called_name(node)): node for node in calls}

    @cached_property
    def nodes(self) -> list[cst.CSTNode]:
        """Every node that is code, a parent before its children, in source order."""
        found: list[cst.CSTNode] = []
        stack: list[cst.CSTNode] = [self.module]
        while stack:
            node = stack.pop()
            found.append(node)
            stack.extend(reversed(list(children(node))))
        return found

    @cached_property
    def statements(self) -> dict[Position, cst.CSTNode]:
        """Start -> the statement that begins there, without the line that it is on."""
        kinds = cst.BaseSmallStatement | cst.BaseCompoundStatement
        return {self.span(node)[0]: node for node in self.nodes if isinstance(node, kinds)}

    @cached_property
    def expressions(self) -> dict[tuple[Position, Position], cst.CSTNode]:
        """Span -> the expression, without the parentheses around it."""
        return {self.span(node): node for node in self.nodes if isinstance(node, cst.BaseExpression)}

    @cached_property
    def parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Node -> the node it is a child of."""
        return {child: node for node in self.nodes for child in children(node)}


def _called_name(node: cst.Call) -> str:
    function = node.func
    while isinstance(function, cst.Call | cst.Subscript):
        function = function.func if isinstance(function, cst.Call) else function.value
    return function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")


def children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The children of a node that are code; whitespace and punctuation are left out."""
    kind = type(node)
    names = _FIELDS.get(kind)
    if names is None:
        # libcst keeps the fields of these two in another order than the source.
        known = {
            cst.IfExp: ("body", "test", "orelse"),
            cst.FunctionDef: ("decorators", "name", "params", "returns", "body"),
        }
        names = _FIELDS[kind] = known.get(kind) or tuple(
            n for n in kind.__dataclass_fields__ if not n.startswith(_NOT_CODE)
        )
    for name in names:
        value = getattr(node, name)
        if isinstance(value, cst.CSTNode):
            yield value
        elif isinstance(value, list | tuple):
            for item in value:
                if isinstance(item, cst.CSTNode):
                    yield item


def outermost(outline: Outline, function: int) -> int:
    """The outermost function around a function; 0, the module, for code outside functions."""
    while function > 0 and outline.functions[function].parent > 0:
        function = outline.functions[function].parent
    return function


def unit_of(outline: Outline, lines: list[str], function: int) -> Unit:
    """Parse one outermost function, or with 0 the module without its functions. Raises CannotCheck."""
    if function > 0:
        record = outline.functions[function]
        return unit_of_lines(lines[record.line - 1 : record.end_line], record.line)
    return Unit("\n".join(_hollowed(outline, lines)) + "\n", 1)


def unit_of_lines(lines: list[str], first_line: int) -> Unit:
    """Parse the lines of one function or statement; `first_line` is the 1-based number of the first."""
    text = "\n".join(lines) + "\n"
    if lines[0][:1] in (" ", "\t"):
        # What is indented stands below a line that makes its indentation legal.
        return Unit("if 1:\n" + text, first_line - 1)
    return Unit(text, first_line)


def _hollowed(outline: Outline, lines: list[str]) -> list[str]:
    kept = list(lines)
    for index, record in enumerate(outline.functions):
        if index == 0 or outermost(outline, index) != index:
            continue
        first = lines[record.line - 1]
        kept[record.line - 1] = first[: len(first) - len(first.lstrip(" \t\f"))] + "pass"
        for number in range(record.line, record.end_line):
            kept[number] = ""
    return kept
