"""The toolbox that rules make fixes with: text edits from libcst nodes, everything outside them kept as it is.

A fix is all of its edits or none. A rule says what to change and how safe that is; what cannot be done without
guessing (inside an f-string, across a comment) raises CannotFix, and the finding then goes without a fix:

    fix = fix_of(site, Safety.SAFE, lambda edit: edit.set_keyword(site.call, "non_blocking", "True"))

`x.to(device)` becomes `x.to(device, non_blocking=True)`, and a call with one argument a line gets a line more.
Nodes are those a rule has at hand: of `ast` (`site.call`, `site.receiver`, a Spot's expression) or of libcst
(`site.node`). They may stand in any function, which is named by its number in the outline.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias, TypeGuard, TypeVar

from torchperf_lint.errors import CannotCheck, CannotFix
from torchperf_lint.facts.files.concrete import cst
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.tree import Unit, outermost
from torchperf_lint.facts.fixes import listing
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.model import Edit, Fix, Safety
from torchperf_lint.patterns import pattern

Node: TypeAlias = "ast.expr | ast.stmt | cst.CSTNode"
Statement: TypeAlias = "cst.BaseSmallStatement | cst.BaseCompoundStatement"
_Kind = TypeVar("_Kind", bound="cst.CSTNode")
_NEWLINE = pattern(r"\r\n|\r|\n")
_CLOSING = pattern(r"(?:[ \t\f\r\n]|\\(?:\r\n|\r|\n)|\#[^\r\n]*)*\)")
_OPENING = pattern(r"(?:[ \t\f\r\n]|\\(?:\r\n|\r|\n)|\#[^\r\n]*)*\(")
_SEPARATORS = pattern(r"(?:[ \t\f\r\n,]|\\(?:\r\n|\r|\n)|\#[^\r\n]*)*")
_WITH_PARENTHESES = (ast.Tuple, ast.GeneratorExp, ast.Starred, ast.Slice)
"""Expressions that `ast` counts their parentheses into, or that libcst does not call expressions."""
_ATOMS = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.Constant, ast.List, ast.Dict, ast.Set, ast.ListComp)


def fix_of(place: Place, safety: Safety, build: Callable[[Editor], Iterable[Edit]]) -> Fix | None:
    """The fix that `build` makes with an editor for the function around a place; None where it cannot be made."""
    try:
        return made(safety, build(Editor(place.file, place.function)))
    except (CannotFix, CannotCheck):
        return None


def made(safety: Safety, edits: Iterable[Edit]) -> Fix | None:
    """A fix of these edits, in order and each once; None where there are none. Raises CannotFix for a conflict."""
    ordered = sorted(set(edits), key=lambda edit: (edit.start, edit.end, edit.text))
    for one, other in pairwise(ordered):
        if other.start < one.end or (one.start == one.end == other.start == other.end):
            raise CannotFix("its edits overlap")
    return Fix(safety, tuple(ordered)) if ordered else None


class Editor:
    """Makes edits of one file, in and around one function of it."""

    def __init__(self, file: SourceFile, function: int) -> None:
        self.file = file
        self.function = function
        """Its number in the outline; 0 is the module."""
        self.text = file.text

    @cached_property
    def unit(self) -> Unit:
        """The libcst tree around the function. Raises CannotCheck."""
        return self.file.unit(outermost(self.file.outline, self.function))

    # -- where things stand --------------------------------------------------------------------------

    def offset(self, at: Position) -> int:
        """The 0-based offset, in code points of the file's text, of a 1-based line and column."""
        return self.file.offset(at)

    def span(self, node: Node) -> tuple[int, int]:
        """Start and end of a node as offsets, without the parentheses around it. Raises CannotFix in an f-string."""
        start, end = self.file.span(node) if self._is_plain(node) else self.unit.span(self._checked(node))
        return self.offset(start), self.offset(end)

    def _is_plain(self, node: Node) -> TypeGuard[ast.expr]:
        """Whether `ast` says exactly where an expression of the function stands: most need no libcst."""
        if not isinstance(node, ast.expr) or isinstance(node, _WITH_PARENTHESES):
            return False
        around = self.file.enclosing(self.function)
        return node in around.parents and not any(isinstance(n, ast.JoinedStr) for n in around.ancestors(node))

    def source(self, node: Node) -> str:
        """The text of a node as it stands in the file, without the parentheses around it."""
        start, end = self.span(node)
        return self.text[start:end]

    def operand(self, node: ast.expr) -> str:
        """The text of a node to put before a dot or into arithmetic: in parentheses unless it needs none.

        `a + b` gives `(a + b)`, `loss` and `f(x)` stay.
        """
        text = self.source(node)
        return text if isinstance(node, _ATOMS) and not _NEWLINE.search(text) else f"({text})"

    def node(self, node: Node) -> cst.CSTNode:
        """The libcst node of an `ast` node. Raises CannotFix where the two disagree (f-strings on older Pythons)."""
        if isinstance(node, cst.CSTNode):
            return node
        start, end = self.file.span(node)
        found = (
            self.unit.statements.get(start) if isinstance(node, ast.stmt) else self.unit.expressions.get((start, end))
        )
        if found is None and isinstance(node, ast.Tuple | ast.GeneratorExp):  # ast counts their parentheses in
            found = next(
                (n for (s, e), n in self.unit.expressions.items() if start < s and e < end and _is(n, node)), None
            )
        if found is None:
            raise CannotFix("libcst and ast disagree about where it stands")
        return found

    def around(self, node: Node, kind: type[_Kind]) -> _Kind | None:
        """The innermost node of a kind around another: `edit.around(call, cst.For)`."""
        current: cst.CSTNode | None = self.node(node)
        while current is not None:
            current = self.unit.parents.get(current)
            if isinstance(current, kind):
                return current
        return None

    def statement(self, node: Node) -> Statement:
        """The statement that a node is, or is in; of `a(); b()` one of the two."""
        current: cst.CSTNode | None = self.node(node)
        while current is not None and not isinstance(current, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            current = self.unit.parents.get(current)
        if current is None:
            raise CannotFix("it is in no statement")
        return current

    # -- expressions -----------------------------------------------------------------------------------

    def replace(self, node: Node, text: str) -> Edit:
        """Put `text` in a node's place; parentheses around it stay.

        `edit.replace(site.call.args[0], "device")`.
        """
        return Edit(*self.span(node), text)

    def unwrap(self, call: ast.Call) -> Edit:
        """Make a method call its receiver: `loss.item()` becomes `loss`, `(a + b).item()` becomes `(a + b)`."""
        end = self.span(call)[1]
        if not isinstance(call.func, ast.Attribute):
            raise CannotFix("it is no method call")
        return self._deleted(self._behind_parentheses(call.func.value, end), end)

    def rename_method(self, call: ast.Call, text: str) -> Edit:
        """Put `text` in place of the method's name: with `detach`, `loss.item()` becomes `loss.detach()`."""
        start, end = self.span(call.func)
        if isinstance(call.func, ast.Attribute):
            start = end - len(call.func.attr)
            if self.text[start:end] != call.func.attr:
                raise CannotFix("its name is written in other letters")
        return Edit(start, end, text)

    def _behind_parentheses(self, node: ast.expr, limit: int) -> int:
        """Where an expression ends, with all parentheses that are closed behind it and before `limit`."""
        end = self.offset(self.file.span(node)[1])
        while (closing := _CLOSING.match(self.text, end, limit)) is not None:
            end = closing.end()
        return end

    def outer_end(self, node: Node) -> int:
        """Where a node ends, the parentheses around it included."""
        inner = self._checked(node)
        end = self.span(inner)[1]
        for _ in getattr(inner, "rpar", ()):
            closing = _CLOSING.match(self.text, end)
            if closing is None:
                raise CannotFix("a parenthesis is not where libcst has it")
            end = closing.end()
        return end

    # -- arguments of calls ----------------------------------------------------------------------------

    def set_keyword(self, call: ast.Call, name: str, value: str) -> list[Edit]:
        """Pass a keyword argument, in place of its present value where it is passed by keyword already.

        `f(a)` becomes `f(a, name=value)`; comments, trailing commas and one argument a line are kept as they are.
        """
        present = keyword(call, name)
        if present is not None:
            return [self.replace(present, value)]
        listed = self.arguments(call)
        return listed.add(f"{name}{self._equals(call, listed)}{value}")

    def _equals(self, call: ast.Call, listed: listing.Listing) -> str:
        """How the call writes `=` behind a keyword: most put no blanks around it."""
        signs = set()
        for given, (start, _) in zip(_given(call), listed.items, strict=True):
            if isinstance(given, ast.keyword) and given.arg is not None:
                signs.add(self.text[start + len(given.arg) : self.offset(self.file.start(given.value))])
        return " = " if signs == {" = "} else "="

    def set_argument(self, call: ast.Call, name: str, position: int, value: str) -> list[Edit]:
        """The same for what may also be passed by position (0-based). Raises CannotFix behind an unpacked `*args`."""
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            raise CannotFix("unpacked arguments may pass it already")
        if len(call.args) > position:
            return [self.replace(call.args[position], value)]
        return self.set_keyword(call, name, value)

    def drop_argument(self, call: ast.Call, which: str | int) -> list[Edit]:
        """Take an argument out, by keyword or 0-based position, with its comma; comments stay."""
        for index, given in enumerate(_given(call)):
            name = given.arg if isinstance(given, ast.keyword) else index
            if name == which and not isinstance(given, ast.Starred):
                return self.arguments(call).drop(index)
        raise CannotFix(f"there is no argument {which}")

    def arguments(self, call: ast.Call) -> listing.Listing:
        """The arguments of a call, as they stand in its parentheses. Raises CannotFix for `f(x for x in y)`."""
        end = self.span(call)[1]
        opening = _OPENING.match(self.text, self._behind_parentheses(call.func, end))
        if opening is None:
            raise CannotFix("a parenthesis is not where it should be")
        values = [given.value if isinstance(given, ast.keyword) else given for given in _given(call)]
        if len(values) == 1 and isinstance(values[0], ast.GeneratorExp):
            raise CannotFix("a lone generator expression would need parentheses")
        spans, behind = [], opening.end()
        for value in values:
            start, behind = self._over_separators(behind), self._behind_parentheses(value, end - 1)
            spans.append((start, behind))
        return listing.Listing(self.text, tuple(spans), opening.end(), end - 1)

    def _over_separators(self, offset: int) -> int:
        found = _SEPARATORS.match(self.text, offset)
        return found.end() if found else offset

    # -- statements --------------------------------------------------------------------------------------

    def drop_statement(self, node: Node) -> list[Edit]:
        """Take out the statement that a node is, or is in, with its lines and the comment behind it.

        Of `a(); b()` the other stays; where it is the only one of its block, `pass` takes its place.
        """
        statement = self.statement(node)
        start, end = self.span(statement)
        line = self.unit.parents[statement]
        if isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite) and len(line.body) > 1:
            index = list(line.body).index(statement)  # type: ignore[arg-type]
            if index + 1 < len(line.body):
                return [self._deleted(start, self.span(line.body[index + 1])[0])]
            return [self._deleted(self.span(line.body[index - 1])[1], end)]
        if self._is_alone(statement):
            return [Edit(start, end, "pass")]
        if not self.starts_line(start):
            raise CannotFix("it does not begin its line")
        first, last = self.line_start(start), self._over_blank_lines(self._first_line(statement), self.next_line(end))
        return [Edit(first, last, "")]

    def _over_blank_lines(self, first: int | None, last: int) -> int:
        """Where lines to drop end, so that the blank lines before and behind them do not add up.

        `first` is where they begin, None where a block begins with them: blank lines behind go then.
        """
        above = 0
        while first and not self.text[self.previous_line(first) : first].strip(" \t\r\n"):
            first, above = self.previous_line(first), above + 1
        while (first is None or above) and last < len(self.text):
            following = self.next_line(last)
            if self.text[last:following].strip(" \t\r\n"):
                break
            last, above = following, above - 1
        return last

    def insert_before(self, node: Node, text: str) -> Edit:
        """Put statements before the one a node is, or is in, at its indentation; `text` has plain newlines."""
        statement = self.statement(node)
        decorators = getattr(statement, "decorators", ())
        start = self.span(decorators[0] if decorators else statement)[0]
        parent = self.unit.parents[statement]
        if isinstance(parent, cst.If) and parent.orelse is statement:
            raise CannotFix("nothing can stand before an `elif`")
        if self.starts_line(start) and not isinstance(parent, cst.SimpleStatementSuite):
            newline = self.newline(start)
            return Edit(self.line_start(start), self.line_start(start), self._indented(text, start) + newline)
        return Edit(start, start, f"{_one_line(text)}; ")

    def insert_after(self, node: Node, text: str) -> Edit:
        """Put statements after the one a node is, or is in, at its indentation: after a loop, behind all of it."""
        statement = self.statement(node)
        start, end = self.span(statement)
        line = self.unit.parents[statement]
        if isinstance(line, cst.SimpleStatementSuite):
            return Edit(end, end, f"; {_one_line(text)}")
        if isinstance(line, cst.SimpleStatementLine):
            if line.body[-1] is not statement:
                return Edit(end, end, f"; {_one_line(text)}")
            start = self.span(line)[0]
        at = self.line_end(end)
        return Edit(at, at, self.newline(at) + self._indented(text, start))

    def _first_line(self, statement: Statement) -> int | None:
        """Where the line of a statement begins; None where it is the first of its block."""
        line = self.unit.parents[statement]
        whole = line if isinstance(line, cst.SimpleStatementLine) else statement
        block = self.unit.parents[whole]
        begins = isinstance(block, cst.IndentedBlock) and block.body[0] is whole and not whole.leading_lines
        return None if begins else self.line_start(self.span(statement)[0])

    def _is_alone(self, statement: Statement) -> bool:
        """Whether its block would be empty without it; a module may be."""
        line = self.unit.parents[statement]
        if isinstance(line, cst.SimpleStatementSuite):
            return True
        block = self.unit.parents[line] if isinstance(line, cst.SimpleStatementLine) else line
        return isinstance(block, cst.IndentedBlock) and len(block.body) == 1

    def _indented(self, text: str, start: int) -> str:
        indent = self.text[self.line_start(start) : start]
        return self.newline(start).join(indent + line if line else "" for line in text.split("\n"))

    # -- lines -------------------------------------------------------------------------------------------

    def line_start(self, offset: int) -> int:
        """Where the physical line of an offset begins."""
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def line_end(self, offset: int) -> int:
        """Where it ends, before its newline."""
        found = _NEWLINE.search(self.text, offset)
        return found.start() if found else len(self.text)

    def next_line(self, offset: int) -> int:
        """Where the next physical line begins."""
        found = _NEWLINE.search(self.text, offset)
        return found.end() if found else len(self.text)

    def previous_line(self, offset: int) -> int:
        """Where the physical line before begins; at the first line, where that begins."""
        start = self.line_start(offset)
        newline = 2 if self.text.startswith("\r\n", max(start - 2, 0)) else min(start, 1)
        return self.line_start(start - newline)

    def starts_line(self, offset: int) -> bool:
        """Whether nothing but blanks stands before it on its line."""
        return not self.text[self.line_start(offset) : offset].strip(" \t\f")

    def newline(self, offset: int) -> str:
        """The newline that ends the line of an offset; at the end of the text, the one that the file begins with."""
        found = _NEWLINE.search(self.text, offset) or _NEWLINE.search(self.text)
        return found[0] if found else "\n"

    # -- inside ------------------------------------------------------------------------------------------

    def _deleted(self, start: int, end: int) -> Edit:
        if listing.has_comment(self.text[start:end]):
            raise CannotFix("a comment stands in between")
        return Edit(start, end, "")

    def _checked(self, node: Node) -> cst.CSTNode:
        found = self.node(node)
        current: cst.CSTNode | None = found
        while current is not None and not isinstance(current, cst.BaseSmallStatement):
            if isinstance(current, (cst.FormattedString, cst.FormattedStringExpression)) and current is not found:
                raise CannotFix("it is inside an f-string")
            current = self.unit.parents.get(current)
        return found


def _given(call: ast.Call) -> list[ast.expr | ast.keyword]:
    """What a call is given, as it is written: `f(a, k=b, *c)`."""
    return sorted([*call.args, *call.keywords], key=lambda given: (given.lineno, given.col_offset))


def _is(found: cst.CSTNode, node: ast.expr) -> bool:
    return isinstance(found, cst.Tuple if isinstance(node, ast.Tuple) else cst.GeneratorExp)


def _one_line(text: str) -> str:
    if "\n" in text or text.rstrip().endswith(":"):
        raise CannotFix("it would have to share a line")
    return text
