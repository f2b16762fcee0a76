"""Code that runs once, as other code says: what puts away what a test found missing.

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
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.literals import is_none
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
