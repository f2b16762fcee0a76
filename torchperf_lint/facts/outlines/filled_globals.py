"""Names of the module that functions fill for good: what fills them runs once, or again where more is asked for.

    grid = None

    def make_grid(depth):
        global grid
        grid = torch.ones(1, *depth.shape[1:]).type_as(depth)      # not in every step

    def project(depth):
        if grid is None or grid.size(2) < depth.size(2):
            make_grid(depth)
        return grid * depth

So it is on the spot, `if grid is None: grid = ...`, behind `if grid is not None: return grid`, and behind a flag,
`if not ready: ...; ready = True`. Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.outlines.filled_elsewhere import may_be_none
from torchperf_lint.facts.outlines.guards import Guard
from torchperf_lint.facts.outlines.once import ASPECTS, COUNTS, compares_with_step
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.syntax.literals import is_none, is_true
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of

_LEAVES = (ast.Return, ast.Yield, ast.YieldFrom, ast.Raise)


class FilledGlobals:
    """The names of one module that its functions declare `global`, and what they put there."""

    def __init__(self, text: str) -> None:
        self._declares = _declares(text)
        self._tree = ast.Module([], [])

    def read(self, tree: ast.Module) -> None:
        """Say which file this is about."""
        self._tree = tree

    def fill(self, node: ast.If, around: Sequence[ast.stmt], parameters: frozenset[str]) -> bool:
        """Whether a branch fills what its test finds missing in the module, itself or by a function of the module."""
        asked = _asked(node.test) if self._declares else None
        if asked is None or asked.negated or not self._is_of_module(asked.name, around, parameters):
            return False
        kept = {}
        for names, block in self._run_by(node.body, around):
            kept.update({name: value for name, value in _assigned(block) if name in names})
        return self._keeps(asked, kept)

    def kept_after(
        self, statement: ast.stmt, rest: Sequence[ast.stmt], around: Sequence[ast.stmt], parameters: frozenset[str]
    ) -> Guard | None:
        """Whether a statement leaves the function where the rest of its block has filled a name of the module."""
        if not self._declares or not isinstance(statement, ast.If) or statement.orelse:
            return None
        asked = _asked(statement.test) if isinstance(statement.body[-1], ast.Return) else None
        if asked is None or not asked.negated or not self._is_of_module(asked.name, around, parameters):
            return None
        names = _declared(around)
        kept = {name: value for name, value in _assigned(rest) if name in names}
        return Guard("once", short(words(statement.test))) if self._keeps(asked, kept) else None

    def _keeps(self, asked: _Asked, kept: dict[str, ast.expr]) -> bool:
        """Whether what a test asks for is there from then on: nothing in the file takes it away again."""
        value = kept.get(asked.name)
        if value is None or asked.name in (self._given.lowered if asked.is_flag else self._given.emptied):
            return False
        keys = {name for name in kept if not COUNTS.search(name)}
        right = is_true(value) if asked.is_flag else not may_be_none(value)
        return right and all(_asks_for(part, asked.name, keys) for part in asked.others)

    def _run_by(
        self, block: Sequence[ast.stmt], around: Sequence[ast.stmt]
    ) -> Iterator[tuple[frozenset[str], Sequence[ast.stmt]]]:
        """The block, and the functions that its own statements call, each with the names that it declares."""
        yield _declared(around), block
        for statement in block:
            call = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in self._functions:
                body = self._functions[call.func.id].body
                yield _declared(body), body

    def _is_of_module(self, name: str, around: Sequence[ast.stmt], parameters: frozenset[str]) -> bool:
        """Whether a name in a function is the module's, and not one of its own."""
        if name not in self._given.declared or name in parameters:
            return False
        if name in _declared(around):
            return True
        nodes = (node for statement in around for node in nodes_of(statement))
        return not any(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in nodes)

    @cached_property
    def _functions(self) -> dict[str, ast.FunctionDef]:
        return {s.name: s for s in self._tree.body if isinstance(s, ast.FunctionDef)}

    @cached_property
    def _given(self) -> _Given:
        given = _Given(set(), set(), set())
        for function in (node for node in nodes_of(self._tree) if isinstance(node, ast.FunctionDef)):
            names = _declared(function.body)
            given.declared.update(names)
            for node in nodes_of(function) if names else ():
                _note(node, names, given)
        return given


def _declares(text: str) -> bool:
    """Whether a text may hold `global name` where a statement begins; many only speak of global pooling."""
    before = (part.rpartition("\n")[2].rstrip() for part in text.split("global ")[:-1])
    return any(not written or written[-1] in ":;" for written in before)


class _Given(NamedTuple):
    """Names of the module that functions declare `global`, by what they do with them."""

    declared: set[str]
    emptied: set[str]
    """Given None, or deleted."""
    lowered: set[str]
    """Given anything but True, or deleted."""


class _Asked(NamedTuple):
    """A test for a name."""

    name: str
    is_flag: bool
    negated: bool
    """It asks whether the name is there."""
    others: list[ast.expr]
    """What else has to be wrong, or right, of it."""


def _asked(test: ast.expr) -> _Asked | None:
    """`grid is None or grid.size(0) < n`; `grid is not None and ...`; `not ready`, `ready`."""
    parts = test.values if isinstance(test, ast.BoolOp) else [test]
    first, others = parts[0], parts[1:]
    negated = isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.Not)
    flag = first.operand if negated else first  # type: ignore[attr-defined]
    if isinstance(flag, ast.Name):
        return _Asked(flag.id, True, not negated, []) if not others else None
    if not isinstance(first, ast.Compare) or not isinstance(first.left, ast.Name) or not is_none(first.comparators[-1]):
        return None
    operator = first.ops[0]
    if len(first.ops) > 1 or not isinstance(operator, ast.Is | ast.IsNot):
        return None
    there = isinstance(operator, ast.IsNot)
    joined = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
    return _Asked(first.left.id, False, there, others) if not others or joined == there else None


def _asks_for(part: ast.expr, name: str, keys: set[str]) -> bool:
    """Whether a test asks for the size or device of what is kept, or for a name that is set beside it."""
    if not isinstance(part, ast.Compare):
        return False
    for node in nodes_of(part):
        if isinstance(node, ast.Name) and node.id != name and node.id in keys:
            return not compares_with_step(part)
        of_name = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        if of_name and node.attr in ASPECTS:  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
            return name in names_of(node)
    return False


def _declared(body: Sequence[ast.stmt]) -> frozenset[str]:
    """The names that the own block of a function declares `global`."""
    return frozenset(name for s in body if isinstance(s, ast.Global) for name in s.names)


def _assigned(block: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """What a block gives plain names, come what may, up to where it may be left."""
    for statement in block:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value  # type: ignore[attr-defined]
            elif isinstance(target, ast.Tuple):
                yield from ((part.id, statement.value) for part in target.elts if isinstance(part, ast.Name))  # type: ignore[attr-defined]
        if any(isinstance(node, _LEAVES) for node in nodes_of(statement)):
            return


def _note(node: ast.AST, names: frozenset[str], given: _Given) -> None:
    targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    found = {n.id for target in targets for n in nodes_of(target) if isinstance(n, ast.Name)} & names
    value = getattr(node, "value", None) if found else None
    if found and (value is None or may_be_none(value)):
        given.emptied.update(found)
    if found and not is_true(value):
        given.lowered.update(found)
