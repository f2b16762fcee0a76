"""Code behind options that nothing in a project turns on: no call, no settings, no command line.

    def forward(self, x):
        if self.average:            # `average=False` in the constructor, and nobody gives it
            return self.mean(x)     # which nobody else calls

By names alone, as in reached.py: what stands behind such an option runs nothing, so a function that is named there only
is left as well, and so is a class.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.names_of_file import Place
from torchperf_lint.facts.call_graph.ever_given import EverGiven
from torchperf_lint.facts.outlines.parameter_tests import each_way, may_hold, parameter_of, ways
from torchperf_lint.facts.syntax.syntax import children_of

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HOPS = 4
"""How far names are followed: a function that only one calls that only one calls."""


class LeftOff:
    """Answers for one project."""

    def __init__(
        self, given: EverGiven, body: Callable[[str], Body | None], is_left: Callable[[str, Place], bool]
    ) -> None:
        """Ask of one project.

        :param is_left: whether no program reaches a place, which is 1-based
        """
        self.given = given
        self._body = body
        self._never_reached = is_left
        self._known: dict[tuple[str, int, int], bool] = {}

    def holds(self, path: str, at: Place, hops: int = _HOPS) -> bool:
        """Whether a place runs only for a value that nothing gives."""
        body = self._body(path)
        if body is None:
            return False
        around = list(_around(body.functions[0], at))
        cls = next((node for node in reversed(around) if isinstance(node, ast.ClassDef)), None)
        if any(self._never(way, cls) for way in _ways_to(around, at)) or self._never_reached(path, (at[0], at[1] + 1)):
            return True
        return hops > 0 and any(self._is_left(path, node, hops) for node in around if _is_named(node))

    def _never(self, way: _Way, cls: ast.ClassDef | None) -> bool:
        """Whether nothing takes a way, in the methods of a class or elsewhere."""
        name = parameter_of(way.text)
        values = self.given.values(name)
        if values is None and way.of_object and cls is not None:
            values = self.given.of_objects(cls, name)
        return values is not None and not any(may_hold(way.text, value) for value in values)

    def _is_left(self, path: str, node: ast.AST, hops: int) -> bool:
        """Whether a function or class is named, and only in code that is left."""
        assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        key = (path, node.lineno, hops)
        if key not in self._known:
            self._known[key] = self._is_named_where_nothing_runs(path, node, hops)
        return self._known[key]

    def _is_named_where_nothing_runs(
        self, path: str, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, hops: int
    ) -> bool:
        named = False
        # The own file first, and none that need not be asked: each has to be parsed.
        for file in self.given.files_with(node.name, path):
            for at in file.mentions.get(node.name, ()):
                if file.path == path and _holds(node, at):
                    continue
                if not self.holds(file.path, at, hops - 1):
                    return False
                named = True
        return named


def _is_named(node: ast.AST) -> bool:
    """Whether who runs a function or class has to write its name."""
    if not isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("__"):
        return False
    return node.name not in ("forward", "main") and not node.decorator_list


def _around(node: ast.AST, at: Place) -> Iterator[ast.AST]:
    """The nodes around a place, the outermost first."""
    found: ast.AST | None = node
    while found is not None and not isinstance(found, ast.Lambda):
        yield found
        found = next((child for child in children_of(found) if _holds(child, at)), None)


class _Way(NamedTuple):
    """What must hold for a place to run."""

    text: str
    of_object: bool
    """Whether it asks an attribute of `self`, and no name."""


def _ways_to(around: list[ast.AST], at: Place) -> Iterator[_Way]:
    """What must hold for a place to run: the tests around it, and those before it that leave."""
    for node in around:
        if isinstance(node, ast.If | ast.IfExp):
            yield from _of_branch(node, at)
        elif isinstance(node, ast.BoolOp):
            yield from _of_operands(node, at)
        for block in ("body", "orelse", "finalbody"):
            yield from _past(getattr(node, block, None), at)


def _of_branch(node: ast.If | ast.IfExp, at: Place) -> Iterator[_Way]:
    body = node.body if isinstance(node.body, list) else [node.body]
    orelse = node.orelse if isinstance(node.orelse, list) else [node.orelse]
    if any(_holds(child, at) for child in body):
        yield from _ways(node.test)[0]
    elif any(_holds(child, at) for child in orelse):
        yield from _ways(node.test)[1]


def _of_operands(node: ast.BoolOp, at: Place) -> Iterator[_Way]:
    """The operands before the one that holds a place: `self.until is not None and self.count >= self.until`."""
    for operand in node.values:
        if _holds(operand, at):
            return
        yield from _ways(operand)[0 if isinstance(node.op, ast.And) else 1]


def _past(block: object, at: Place) -> Iterator[_Way]:
    """What must fail for the rest of a block to run: `if not self.average: return x` comes first."""
    statements = block if isinstance(block, list) and any(_holds(part, at) for part in block) else ()
    for statement in statements:
        if _holds(statement, at):
            return
        if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], _LEAVES):
            yield from _ways(statement.test)[1]


class _Plain(ast.NodeTransformer):
    """`self.average` as `average`: attributes of the object and names are followed alike."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            return ast.copy_location(ast.Name(node.attr, ast.Load()), node)
        return node


class _Any(frozenset[str]):
    """Holds all names."""

    def __contains__(self, name: object) -> bool:
        return bool(name)


def _ways(test: ast.expr) -> tuple[list[_Way], list[_Way]]:
    """What must hold for the body of a test to run, and for its `else`."""
    names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    holds, fails = ways(_Plain().visit(ast.parse(ast.unparse(test), mode="eval").body), _Any())
    return _each(holds, names), _each(fails, names)


def _each(joined: str, names: set[str]) -> list[_Way]:
    return [_Way(way, parameter_of(way) not in names) for way in each_way(joined)] if joined else []


def _holds(node: ast.AST, at: Place) -> bool:
    line, end = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    if line is None or end is None:
        return any(_holds(child, at) for child in children_of(node))
    return (line, node.col_offset) <= at < (end, node.end_col_offset)  # type: ignore[attr-defined]
