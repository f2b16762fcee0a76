"""Code that runs once, as other code says: what puts away what a test found missing, or takes down a flag for good.

    if self.losses is None:                 def _search(self, data):
        self._search(data)                      self.losses = np.zeros(len(data))

    if not hasattr(self, "weight"):
        weight = self.recover()
    ...
    self.weight = weight

    if not self.pending:
        return
    ...
    self.pending = False

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.literals import is_false, is_none
from torchperf_lint.facts.once import missing_in
from torchperf_lint.facts.syntax import nodes_of

_OWN = "self."


class FillingMethods:
    """The methods of one file's classes, by what they put into attributes of their object."""

    def __init__(self) -> None:
        self._methods: dict[int, dict[str, ast.stmt]] = {}

    def note(self, number: int, node: ast.ClassDef) -> None:
        """Keep which methods a class has."""
        found = [s for s in node.body if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]
        self._methods[number] = {method.name: method for method in found}

    def fill(self, node: ast.If, class_index: int) -> bool:
        """Whether a branch calls, come what may, a method of its own object that sets what the test found missing."""
        missing = missing_in(node.test)
        if missing is None or not missing.startswith(_OWN):
            return False
        methods = self._methods.get(class_index, {})
        called = [methods[name] for name in _own_calls(node.body) if name in methods]
        return any(True for method in called for _ in _set_by(method, missing))

    def take_down(self, statement: ast.stmt, rest: Sequence[ast.stmt], class_index: int) -> bool:
        """Whether a block is left at once where a flag is down, and takes it down itself; nothing else raises it.

        What is raised again, as by the `start` of a timer that its `end` takes down, is up as often as that runs.
        """
        if not isinstance(statement, ast.If) or statement.orelse or not _returns_nothing(statement.body):
            return False
        test = statement.test
        ways_out = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) else [test]
        asked = {chain(way.operand) for way in ways_out if isinstance(way, ast.UnaryOp) and isinstance(way.op, ast.Not)}
        down = {chain(t) for s in rest if isinstance(s, ast.Assign) and is_false(s.value) for t in s.targets}
        flags = {name for name in asked & down if name.startswith(_OWN)}
        return any(not self._is_raised(flag, class_index) for flag in flags)

    def _is_raised(self, flag: str, class_index: int) -> bool:
        """Whether a method other than the constructor gives a flag anything but False."""
        methods = (m for name, m in self._methods.get(class_index, {}).items() if name != "__init__")
        return any(not is_false(value) for method in methods for value in _set_by(method, flag))


def _returns_nothing(body: Sequence[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return) and body[-1].value is None


def fills_behind(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether what a branch makes is kept further down as what its test found missing."""
    missing = missing_in(node.test)
    if missing is None or not missing.startswith(_OWN):
        return False
    made = {chain(target) for s in node.body if isinstance(s, ast.Assign) for target in s.targets}
    behind = (s for s in body if (s.end_lineno or 0) > (node.end_lineno or 0))
    kept = (value for s in behind for value in _set_by(s, missing, (node.end_lineno or 0) + 1))
    return any(isinstance(value, ast.Name) and value.id in made for value in kept)


def _own_calls(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The methods of the own object that a block calls in statements of its own: `self._search(data)`."""
    for statement in body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        callee = chain(value.func) if isinstance(value, ast.Call) else ""
        if callee.startswith(_OWN) and callee.count(".") == 1:
            yield callee.removeprefix(_OWN)


def _set_by(statement: ast.stmt, attribute: str, first: int = 0) -> Iterator[ast.expr]:
    """What a statement assigns to an attribute, itself or inside, from a line on; None does not count."""
    for node in nodes_of(statement):
        if isinstance(node, ast.Assign) and node.lineno >= first and not is_none(node.value):
            yield from (node.value for target in node.targets if chain(target) == attribute)
