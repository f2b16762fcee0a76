"""Code that runs once, as other code says: what puts away for good what a test found missing.

    if self.losses is None:                 def _search(self, data):
        self._search(data)                      self.losses = np.zeros(len(data))

    if not hasattr(self, "weight"):
        weight = self.recover()
    ...
    self.weight = weight

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.outlines.once import ASPECTS, RESETS, attribute_asked, missing_in
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none, is_text, is_true
from torchperf_lint.facts.syntax.syntax import children_of, nodes_of

_OWN = "self."
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_LEAVES = (ast.Return, ast.Yield, ast.YieldFrom)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign)


class Filling:
    """What the code of one file puts into attributes of its objects, and which of them it empties again."""

    def __init__(self) -> None:
        self._tree = ast.Module([], [])
        self._methods: dict[int, dict[str, ast.FunctionDef]] = {}
        self._bodies: dict[int, _Body] = {}

    def read(self, tree: ast.Module) -> None:
        """Say which file this is about."""
        self._tree = tree

    def note(self, number: int, node: ast.ClassDef) -> None:
        """Keep which methods a class has; one that is async runs later than its call."""
        self._methods[number] = {s.name: s for s in node.body if isinstance(s, ast.FunctionDef)}

    def fill(self, node: ast.If, class_index: int, around: Sequence[ast.stmt]) -> bool:
        """Whether a branch calls, come what may, a method of its own object that sets what the test found missing."""
        methods = self._methods.get(class_index, {})
        if not methods:
            return False
        missing, flag = _missing_in(node.test), _flag_in(node.test)
        if not (missing or flag):
            return False
        bodies = [self._body(methods[name].body) for name in _own_calls(node.body) if name in methods]
        kept = [value for body in bodies for value in body.surely(missing or flag)]
        if missing:
            return any(not may_be_none(value) for value in kept) and self._stays(missing, around)
        return any(is_true(value) for value in kept) and self._stays(flag, around, is_flag=True)

    def fills_behind(self, node: ast.If, around: Sequence[ast.stmt]) -> bool:
        """Whether what a branch makes is kept further down, come what may, as what its test found missing."""
        missing = _missing_in(node.test)
        if not missing:
            return False
        made = {t.id for s in node.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
        if not made:
            return False
        kept = self._body(around).surely(missing, node.end_lineno or 0)
        return any(isinstance(v, ast.Name) and v.id in made for v in kept) and self._stays(missing, around)

    def _stays(self, attribute: str, around: Sequence[ast.stmt], *, is_flag: bool = False) -> bool:
        """Whether nothing in the file empties an attribute, and the function around calls no `reset`."""
        gone = self._given.lowered if is_flag else self._given.emptied
        return attribute.removeprefix(_OWN) not in gone and not self._body(around).resets

    def _body(self, statements: Sequence[ast.stmt]) -> _Body:
        """What a function's body keeps; read once, as each of its branches may ask."""
        if id(statements) not in self._bodies:
            self._bodies[id(statements)] = _read(statements)
        return self._bodies[id(statements)]

    @cached_property
    def _given(self) -> _Given:
        return _given_in(self._tree)


class _Body(NamedTuple):
    """What the body of a function keeps in attributes of its object."""

    kept: dict[str, list[tuple[int, ast.expr]]]
    """Attribute -> lines and values of what is assigned in the own block, or where it was found missing."""
    ways_out: tuple[int, ...]
    """The lines where the function may end early."""
    resets: bool

    def surely(self, attribute: str, after: int = 0) -> Iterator[ast.expr]:
        """What an attribute is given behind a line, where nothing leaves the function in between."""
        for line, value in self.kept.get(attribute, ()):
            if line > after and bisect_right(self.ways_out, after) == bisect_right(self.ways_out, line):
                yield value


class _Given(NamedTuple):
    """Names of attributes, of whatever object, by what they are given outside constructors."""

    emptied: set[str]
    """Given None, or deleted."""
    lowered: set[str]
    """Given anything but True, or deleted."""


def _missing_in(test: ast.expr) -> str:
    """The attribute that a lone test finds not there: `self.grid is None`, `not hasattr(self, "grid")`; or "".

    Or that it finds of another size: `self.grid is None or self.grid.size(0) < n`.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        missing = _missing_in(test.values[0])
        return missing if all(_asks_aspect(part, missing) for part in test.values[1:]) else ""
    if isinstance(test, ast.Compare):
        lone = isinstance(test.ops[0], ast.Is)
    else:
        lone = isinstance(test, ast.UnaryOp) and isinstance(test.operand, ast.Call)
        lone = lone and chain(test.operand.func) == "hasattr"  # type: ignore[attr-defined]
    return _of_self((missing_in(test) or "") if lone else "")


def _asks_aspect(test: ast.expr, attribute: str) -> bool:
    """`self.grid.size(0) < n`, `self.grid.device != x.device`."""
    asked = (n for n in nodes_of(test) if isinstance(n, ast.Attribute) and n.attr in ASPECTS)
    return isinstance(test, ast.Compare) and any(chain(n.value) == attribute for n in asked)


def _flag_in(test: ast.expr) -> str:
    """The flag of `not self.calibrated`; or ""."""
    negated = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return _of_self(attribute_asked(test.operand) if negated else "")  # type: ignore[attr-defined]


def _of_self(name: str) -> str:
    return name if name.startswith(_OWN) and name.count(".") == 1 else ""


def _own_calls(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The methods of the own object that a block calls in statements of its own: `self._search(data)`."""
    for statement in body:
        if not isinstance(statement, ast.Expr | ast.Assign):
            if any(isinstance(node, (*_LEAVES, ast.Break, ast.Continue)) for node in nodes_of(statement)):
                return
            continue
        callee = chain(statement.value.func) if isinstance(statement.value, ast.Call) else ""
        if _of_self(callee):
            yield callee.removeprefix(_OWN)


def _read(statements: Sequence[ast.stmt]) -> _Body:
    """What a function's body keeps, where it may end early, and whether it calls a `reset` of its object."""
    kept: dict[str, list[tuple[int, ast.expr]]] = {}
    for statement, asked in _own_block(statements):
        for attribute, value in _kept_by(statement):
            if asked in ("", attribute):
                kept.setdefault(attribute, []).append((statement.lineno, value))
    ways_out, resets = [], False
    stack: list[ast.AST] = [*statements]
    while stack:
        node = stack.pop()
        if isinstance(node, _LEAVES):
            ways_out.append(node.lineno)
        resets = resets or (isinstance(node, ast.Call) and RESETS.match(chain(node.func)) is not None)
        stack += () if isinstance(node, _FUNCTIONS) else children_of(node)
    return _Body(kept, tuple(sorted(ways_out)), resets)


def _own_block(statements: Sequence[ast.stmt]) -> Iterator[tuple[ast.stmt, str]]:
    """The statements that run come what may, and those that run where an attribute is missing, with its name."""
    stack = [(statement, "") for statement in reversed(statements)]
    while stack:
        statement, asked = stack.pop()
        yield statement, asked
        if isinstance(statement, ast.If):
            asked = "" if asked else _missing_in(statement.test)
            inside = statement.body if asked else []
        else:
            inside = statement.body if isinstance(statement, ast.With | ast.AsyncWith) else []
        stack += [(inner, asked) for inner in reversed(inside)]


def _kept_by(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The attributes that a statement assigns, each on its own: `self.h = x` keeps x, `self.h, y = f()` is left out."""
    if isinstance(statement, ast.Assign):
        yield from ((chain(target), statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield chain(statement.target), statement.value


def may_be_none(value: ast.expr) -> bool:
    """Whether None stands in an expression where it may be what it gives: `None if fresh else h`, `h, None`."""
    stack = [value]
    while stack:
        node = stack.pop()
        if is_none(node):
            return True
        if isinstance(node, ast.IfExp):
            stack += [node.body, node.orelse]
        elif isinstance(node, ast.BoolOp):
            stack += node.values
        elif isinstance(node, ast.Tuple | ast.List):
            stack += node.elts
    return False


def _given_in(tree: ast.Module) -> _Given:
    """Which attributes a file empties, in whatever class or from outside; what a constructor does happens once."""
    given = _Given(set(), set())
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            continue
        stack += children_of(node)
        if isinstance(node, _ASSIGNS) and node.value is not None:
            names = _attributes(node.targets if isinstance(node, ast.Assign) else [node.target])
            given.emptied.update(names if may_be_none(node.value) else ())
            given.lowered.update(() if is_true(node.value) else names)
        else:
            names = _deleted(node)
            given.emptied.update(names)
            given.lowered.update(names)
    return given


def _attributes(targets: Sequence[ast.expr]) -> set[str]:
    """The names of the attributes that targets set, also inside tuples."""
    below = (node for target in targets for node in nodes_of(target))
    return {node.attr for node in below if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)}


def _deleted(node: ast.AST) -> set[str]:
    """The attributes that are deleted, or set by their name to who knows what."""
    if isinstance(node, ast.Delete):
        return _attributes(node.targets)
    if isinstance(node, ast.Call) and chain(node.func) in ("setattr", "delattr") and len(node.args) > 1:
        return {ast.literal_eval(node.args[1])} if is_text(node.args[1]) else set()
    return set()
