"""Bindings inside functions: which assignments may reach a use. Read from `ast`, one file at a time, on demand."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from torchperf_lint.facts import effects
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.outline import children_of
from torchperf_lint.facts.records import Outline, Position

BlockPath = tuple[tuple[int, str], ...]
"""The compound statements around a place, each as (line, branch); loops have the branch `loop`."""


class Definition(NamedTuple):
    """One binding of a name.

    how: assign, item (the `index`-th of what `value` unpacks to), loop (an element of `value`), augmented, with,
    other (nothing is known: imports, `del`, `except as`).
    """

    how: str
    value: ast.expr | None
    index: tuple[int, ...]  # type: ignore[assignment]  # hides tuple.index, which nobody calls
    at: Position
    end: Position
    """The name is bound after this place."""
    block: BlockPath
    within: tuple[Position, Position] | None = None
    """For a comprehension's variable: the span in which it is bound."""


class Narrowing(NamedTuple):
    """A stretch of code in which an `isinstance` test of a name holds, or is known not to hold."""

    name: str
    classes: str
    """The classes as written."""
    holds: bool
    start: Position
    end: Position
    line: int


class Body:
    """The syntax tree of a file with its functions' bindings."""

    def __init__(self, tree: ast.Module, outline: Outline, text: str) -> None:
        self.outline = outline
        self.ascii = text.isascii()
        self.lines = text.splitlines(keepends=True) if self.ascii else _lines(text)
        self.functions: dict[int, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef] = {0: tree}
        self._definitions: dict[int, dict[str, list[Definition]]] = {}
        self._blocks: dict[int, list[tuple[Position, Position, BlockPath]]] = {}
        self._narrowed: dict[int, list[Narrowing]] = {}
        self._uses: dict[int, dict[str, list[tuple[str, int]]]] = {}
        self._calls: dict[int, dict[tuple[int, int, str], ast.Call]] = {}
        self._self_assignments: dict[int, list[tuple[str, ast.expr, bool]]] = {}
        self._stored: dict[int, dict[str, list[ast.expr]]] = {}
        self._decisive: dict[int, frozenset[str]] = {}
        self._backward: dict[int, dict[str, int]] = {}
        by_place = {(f.header_line, f.name): i for i, f in enumerate(outline.functions)}
        self._find_functions(tree, by_place)

    def _find_functions(self, tree: ast.Module, by_place: dict[tuple[int, str], int]) -> None:
        stack: list[ast.AST] = [tree]
        while stack:
            node = stack.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                index = by_place.get((node.lineno, node.name))
                if index is not None:
                    self.functions[index] = node
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                    stack.append(child)

    def at(self, node: ast.expr | ast.stmt, end: bool = False) -> Position:
        """The 1-based position of a node's start, or of its end."""
        line = (node.end_lineno or node.lineno) if end else node.lineno
        byte = (node.end_col_offset or 0) if end else node.col_offset
        if self.ascii:
            return (line, byte + 1)
        return (line, len(self.lines[line - 1].encode("utf-8", "replace")[:byte].decode("utf-8", "replace")) + 1)

    # -- definitions -------------------------------------------------------------------------------

    def definitions(self, function: int) -> dict[str, list[Definition]]:
        """Name -> its bindings in a function's own scope, in order."""
        if function not in self._definitions:
            collector = _Collector(self)
            node = self.functions.get(function)
            if node is not None:
                collector.run(node.body)
            for found in collector.found.values():
                found.sort(key=lambda d: (d.at, d.end))
            self._definitions[function] = collector.found
            self._blocks[function] = collector.spans
            self._narrowed[function] = collector.narrowed
        return self._definitions[function]

    def narrowing(self, function: int, name: str, at: Position) -> Narrowing | None:
        """The innermost `isinstance` test of a name that holds at a place."""
        self.definitions(function)
        held = [n for n in self._narrowed[function] if n.name == name and n.start <= at < n.end]
        return max(held, key=lambda n: n.start, default=None)

    def block_of(self, function: int, at: Position) -> BlockPath:
        """The blocks around a place."""
        self.definitions(function)
        best: BlockPath = ()
        for start, end, path in self._blocks[function]:
            if start <= at < end and len(path) > len(best):
                best = path
        return best

    def reaching(self, function: int, name: str, at: Position) -> list[Definition] | None:
        """The bindings of `name` that may hold at a place; None when the function does not bind the name."""
        found = self.definitions(function).get(name)
        if not found:
            return None
        local = [d for d in found if d.within is not None and d.within[0] <= at < d.within[1]]
        if local:
            return local[-1:]
        found = [d for d in found if d.within is None]
        return _reaching(found, at, self.block_of(function, at)) if found else None

    # -- uses and calls ----------------------------------------------------------------------------

    def uses(self, function: int, name: str) -> list[tuple[str, int]]:
        """(attribute, line) for each `name.attribute` in a function, in order; `name` may be a chain."""
        self._index(function)
        return self._uses[function].get(name, [])

    def call(self, function: int, line: int, column: int, callee: str) -> ast.Call | None:
        """The call that an outline's Call record stands for."""
        self._index(function)
        return self._calls[function].get((line, column, callee))

    def _index(self, function: int) -> None:
        if function in self._uses:
            return
        uses: dict[str, list[tuple[str, int]]] = {}
        calls: dict[tuple[int, int, str], ast.Call] = {}
        node = self.functions.get(function)
        stack: list[ast.AST] = list(node.body) if node is not None else []
        while stack:
            current = stack.pop()
            if isinstance(current, ast.Attribute):
                uses.setdefault(chain(current.value), []).append((current.attr, current.lineno))
            elif isinstance(current, ast.Call):
                line, column = self.at(current)
                calls[line, column, chain(current.func)] = current
            elif isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            stack.extend(children_of(current))
        for found in uses.values():
            found.sort(key=lambda use: use[1])
        self._uses[function], self._calls[function] = uses, calls

    def mentions_between(self, function: int, name: str, start: Position, end: Position) -> bool:
        """Whether a name is read in a function between two places."""
        node = self.functions.get(function)
        stack: list[ast.AST] = list(node.body) if node is not None else []
        while stack:
            current = stack.pop()
            if isinstance(current, ast.Name) and current.id == name and start <= self.at(current) < end:
                return True
            stack.extend(children_of(current))
        return False

    def loop_iterable(self, function: int, line: int) -> ast.expr | None:
        """What the `for` statement on a line iterates."""
        node = self.functions.get(function)
        for statement in effects.statements(node.body) if node is not None else ():
            if isinstance(statement, ast.For | ast.AsyncFor) and statement.lineno == line:
                return statement.iter
        return None

    def backward_operands(self, function: int) -> dict[str, int]:
        """Chain -> line, for what `backward` runs on: `loss.backward()`, `scaler.scale(a + b).backward()`."""
        self._index(function)
        if function not in self._backward:
            found: dict[str, int] = {}
            for call in self._calls[function].values():
                for name in effects.operands(effects.backward_target(call)):
                    found.setdefault(name, call.lineno)
            self._backward[function] = found
        return self._backward[function]

    def passed_to(self, function: int, name: str) -> list[tuple[str, int]]:
        """(callee, line) of each call that a name is a positional argument of."""
        self._index(function)
        calls = self._calls[function].items()
        found = [(k[2], k[0]) for k, c in calls if any(isinstance(a, ast.Name) and a.id == name for a in c.args)]
        return sorted(found, key=lambda pair: pair[1])

    def decisive(self, function: int) -> frozenset[str]:
        """The names that decide what a function does next: in tests, bounds, slices and sizes."""
        if function not in self._decisive:
            node = self.functions.get(function)
            self._decisive[function] = frozenset(effects.decisive_names(node.body if node is not None else ()))
        return self._decisive[function]

    def iterators(self, function: int) -> set[str]:
        """The chains that a function makes iterators of: `iter(loader)`."""
        self._index(function)
        made = (c for (_, _, callee), c in self._calls[function].items() if callee == "iter" and c.args)
        return {chain(call.args[0]) for call in made}

    def stored_items(self, function: int, name: str) -> list[ast.expr]:
        """What a function puts into a container: `name[...] = value`, `name.append(value)`."""
        if function not in self._stored:
            table: dict[str, list[ast.expr]] = {}
            node = self.functions.get(function)
            for target, value in effects.stores(node.body) if node is not None else ():
                table.setdefault(target, []).append(value)
            self._stored[function] = table
        return self._stored[function].get(name, [])

    def self_assignments(self, function: int) -> list[tuple[str, ast.expr, bool]]:
        """(attribute, value, is a buffer) for each `self.attribute = value` and `self.register_buffer(...)`."""
        if function not in self._self_assignments:
            self._self_assignments[function] = list(effects.self_assignments(self.functions.get(function)))
        return self._self_assignments[function]

    def returns(self, function: int) -> list[ast.expr]:
        """The values of a function's return statements, in order."""
        node = self.functions.get(function)
        statements = effects.statements(node.body) if node is not None else ()
        return [s.value for s in statements if isinstance(s, ast.Return) and s.value is not None]


def _reaching(found: Sequence[Definition], at: Position, block: BlockPath) -> list[Definition]:
    before = [d for d in found if d.end <= at and not _exclusive(d.block, block)]
    kept: list[Definition] = []
    dominating: Definition | None = None
    for definition in reversed(before):
        kept.append(definition)
        if block[: len(definition.block)] == definition.block and definition.how != "augmented":
            dominating = definition
            break
    carried = [d for d in found if d.end > at and _shares_loop(d, block, dominating) and not _exclusive(d.block, block)]
    return [*reversed(kept), *carried]


def _exclusive(one: BlockPath, other: BlockPath) -> bool:
    """Whether two places stand in different branches of one `if`, without a loop to carry values between them."""
    looped = False
    for a, b in zip(one, other, strict=False):
        if a == b:
            looped = looped or a[1] == "loop"
            continue
        return a[0] == b[0] and {a[1], b[1]} == {"body", "else"} and not looped
    return False


def _shares_loop(later: Definition, block: BlockPath, dominating: Definition | None) -> bool:
    shared = 0
    for a, b in zip(later.block, block, strict=False):
        if a != b:
            break
        shared += 1
    loops = [i for i in range(shared) if block[i][1] == "loop"]
    if not loops:
        return False
    return dominating is None or len(dominating.block) <= loops[-1]


def _leaves(statement: ast.stmt) -> bool:
    """`if test: return`, after which the test is known not to hold."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    return isinstance(statement.body[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)


class _Collector:
    """Walks one scope's statements with a stack of its own and records every binding."""

    def __init__(self, body: Body) -> None:
        self.body = body
        self.found: dict[str, list[Definition]] = {}
        self.spans: list[tuple[Position, Position, BlockPath]] = []
        self.narrowed: list[Narrowing] = []
        self.stack: list[tuple[Sequence[ast.stmt], BlockPath]] = []

    def run(self, statements: Sequence[ast.stmt]) -> None:
        self.stack.append((statements, ()))
        while self.stack:
            block, path = self.stack.pop()
            if path and block:
                self.spans.append((self.body.at(block[0]), self.body.at(block[-1], end=True), path))
            for number, statement in enumerate(block):
                self.statement(statement, path)
                if number + 1 < len(block) and _leaves(statement):
                    assert isinstance(statement, ast.If)
                    self.narrow(statement.test, block[number + 1], block[-1], False)

    def inner(self, statements: Sequence[ast.stmt], path: BlockPath, line: int, branch: str) -> None:
        if statements:
            self.stack.append((statements, (*path, (line, branch))))

    def statement(self, node: ast.stmt, path: BlockPath) -> None:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.target(target, "assign", node.value, (), self.body.at(node, end=True), path)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.target(node.target, "assign", node.value, (), self.body.at(node, end=True), path)
        elif isinstance(node, ast.AugAssign):
            self.augmented(node, path)
        elif isinstance(node, ast.For | ast.AsyncFor):
            start = self.body.at(node.body[0])
            inside = (*path, (node.lineno, "loop"))
            self.target(node.target, "loop", node.iter, (), start, inside)
            self.inner(node.body, path, node.lineno, "loop")
            self.inner(node.orelse, path, node.lineno, "else")
        elif isinstance(node, ast.While):
            self.inner(node.body, path, node.lineno, "loop")
            self.inner(node.orelse, path, node.lineno, "else")
        else:
            self.compound(node, path)
        self.expressions(node, path)

    def compound(self, node: ast.stmt, path: BlockPath) -> None:
        if isinstance(node, ast.If):
            self.narrow(node.test, node.body[0], node.body[-1], True)
            if node.orelse:
                self.narrow(node.test, node.orelse[0], node.orelse[-1], False)
            self.inner(node.body, path, node.lineno, "body")
            self.inner(node.orelse, path, node.lineno, "else")
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                if item.optional_vars is not None:
                    self.target(item.optional_vars, "with", item.context_expr, (), self.body.at(node.body[0]), path)
            # A `with` block always runs: it is no branch.
            self.stack.append((node.body, path))
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self.stack.append((node.body, path))  # type: ignore[attr-defined]
            for handler in node.handlers:  # type: ignore[attr-defined]
                self.inner(handler.body, path, handler.lineno, "except")
            self.inner(node.orelse, path, node.lineno, "try-else")  # type: ignore[attr-defined]
            self.stack.append((node.finalbody, path))  # type: ignore[attr-defined]
        elif isinstance(node, ast.Match):
            for case in node.cases:
                self.inner(case.body, path, node.lineno, f"case{case.body[0].lineno}")

    def augmented(self, node: ast.AugAssign, path: BlockPath) -> None:
        if isinstance(node.target, ast.Name):
            value = ast.BinOp(left=ast.Name(id=node.target.id, ctx=ast.Load()), op=node.op, right=node.value)
            ast.copy_location(value, node)
            ast.copy_location(value.left, node.target)
            at = self.body.at(node)
            self.add(node.target.id, Definition("augmented", value, (), at, self.body.at(node, end=True), path))

    def target(
        self, node: ast.expr, how: str, value: ast.expr, index: tuple[int, ...], end: Position, path: BlockPath
    ) -> None:
        if isinstance(node, ast.Name):
            kind = "item" if index and how == "assign" else how
            self.add(node.id, Definition(kind, value, index, self.body.at(node), end, path))
        elif isinstance(node, ast.Starred):
            self.target(node.value, "other", value, (), end, path)
        elif isinstance(node, ast.Tuple | ast.List):
            for position, item in enumerate(node.elts):
                self.target(item, how, value, (*index, position), end, path)

    def add(self, name: str, definition: Definition) -> None:
        self.found.setdefault(name, []).append(definition)

    def expressions(self, node: ast.stmt, path: BlockPath) -> None:
        """Walrus targets and comprehension variables of one statement."""
        stack: list[ast.AST] = [child for child in children_of(node) if isinstance(child, ast.expr)]
        while stack:
            current = stack.pop()
            if isinstance(current, ast.NamedExpr):
                end = self.body.at(current, end=True)
                self.target(current.target, "assign", current.value, (), end, path)
            elif isinstance(current, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
                self.comprehension(current, path)
            elif isinstance(current, ast.IfExp):
                self.narrow(current.test, current.body, current.body, True)
                self.narrow(current.test, current.orelse, current.orelse, False)
            stack.extend(c for c in children_of(current) if isinstance(c, ast.expr | ast.comprehension | ast.keyword))

    def narrow(self, test: ast.expr, first: ast.stmt | ast.expr, last: ast.stmt | ast.expr, holds: bool) -> None:
        """Record what `isinstance(name, classes)` says about the code from `first` to `last`."""
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test, holds = test.operand, not holds
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) and holds:
            for part in test.values:
                self.narrow(part, first, last, holds)
        if not isinstance(test, ast.Call) or chain(test.func) != "isinstance" or len(test.args) != 2:
            return
        span = (self.body.at(first), self.body.at(last, end=True))
        self.narrowed.append(Narrowing(chain(test.args[0]), ast.unparse(test.args[1]), holds, *span, test.lineno))

    def comprehension(self, node: ast.expr, path: BlockPath) -> None:
        span = (self.body.at(node), self.body.at(node, end=True))
        for generator in node.generators:  # type: ignore[attr-defined]
            collector = _Collector(self.body)
            collector.target(generator.target, "loop", generator.iter, (), span[0], path)
            for name, definitions in collector.found.items():
                for definition in definitions:
                    self.add(name, definition._replace(within=span))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
