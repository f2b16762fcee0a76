"""Flags of a class that are never up: the constructor refuses what would raise them, or nothing ever does.

    class Quantizer:                              def __init__(self, huber=False):
        exports = False                               self.huber = huber
        def forward(self, x):                         if huber:
            if Quantizer.exports: ...                     raise NotImplementedError

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.outlines.guards import Guard, guards_the_rest
from torchperf_lint.facts.outlines.kept_parameters import keeping
from torchperf_lint.facts.outlines.unit_intervals import UnitIntervals
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.facts.syntax.syntax import statements_in


class ClassFlags:
    """Those of one file, class by class."""

    def __init__(self) -> None:
        self._down: dict[int, frozenset[str]] = {}
        self.intervals = UnitIntervals()

    def note(self, number: int, node: ast.ClassDef) -> None:
        """Keep which flags of a class are never up."""
        self.intervals.note(number, node)
        refused, flags = set(_refused(node)), set(_class_flags(node))
        if flags:
            flags -= {chain(t) for n in statements_in(node) if isinstance(n, ast.Assign) for t in n.targets}
        if refused or flags:
            self._down[number] = frozenset(refused | flags)

    def of(self, test: ast.expr, class_index: int) -> Guard | None:
        """What a test of such a flag holds back: its branch, or the other one of `not`."""
        down = self._down.get(class_index)
        if down is None:
            return None
        asked, negated = test, False
        while isinstance(asked, ast.UnaryOp) and isinstance(asked.op, ast.Not):
            asked, negated = asked.operand, not negated
        both = isinstance(asked, ast.BoolOp) and isinstance(asked.op, ast.And) and not negated
        parts = asked.values if both else [asked]  # type: ignore[attr-defined]
        held = any(isinstance(part, ast.Attribute) and chain(part) in down for part in parts)
        return Guard("raise", short(words(test)), otherwise=negated) if held else None

    def guards_the_rest(self, statement: ast.stmt, class_index: int) -> Guard | None:
        """What makes the rest of a block of a method rare; no interval that is one step by default."""
        guard = guards_the_rest(statement)
        interval = guard is not None and guard.kind == "cadence" and isinstance(statement, ast.If)
        return None if interval and self.intervals.decides(statement.test, class_index) else guard  # type: ignore[attr-defined]


def _refused(node: ast.ClassDef) -> Iterator[str]:
    """The attributes that keep a parameter with which the constructor raises: `if huber: raise NotImplementedError`."""
    made = next((s for s in node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
    for statement in made.body if made is not None else ():
        if not isinstance(statement, ast.If) or not isinstance(statement.test, ast.Name):
            continue
        if isinstance(statement.body[-1], ast.Raise):
            yield from keeping(node, statement.test.id)


def _class_flags(node: ast.ClassDef) -> Iterator[str]:
    """`exports = False` in the body of a class, by the class's own name: whose objects cannot have another."""
    for statement in node.body:
        value = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(value, ast.Constant) and value.value is False:
            names = [t.id for t in statement.targets if isinstance(t, ast.Name)]  # type: ignore[attr-defined]
            yield from (f"{node.name}.{name}" for name in names)
