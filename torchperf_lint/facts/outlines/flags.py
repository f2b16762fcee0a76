"""Names that hold whether a cadence is due: `save = step % 100 == 0`, and then `if save:`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.outlines import guards
from torchperf_lint.facts.syntax import conditions


class Flags:
    """Those of one file, function by function, as its assignments are read."""

    def __init__(self) -> None:
        self._due: dict[tuple[int, str], bool] = {}
        self._before: list[tuple[int, Sequence[ast.expr]]] | None = []
        """What was assigned, in which function, before any name was due; None once one has been, as in few files."""

    def of(self, test: ast.expr, function: int) -> guards.Guard | None:
        """What a test of flags holds back: `if save:`, `if save and rank == 0:` or `if save or last:`."""
        if self._before is not None:
            return None
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        told = [bool(self._due.get((function, _name(part)))) for part in parts]
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            rare = any(told) and all(f or guards.is_cadence(part) for f, part in zip(told, parts, strict=True))
        else:
            rare = any(told)
        return guards.Guard("cadence", conditions.short(conditions.words(test))) if rare else None

    def note(self, targets: Sequence[ast.expr], value: ast.expr, function: int) -> None:
        """Keep whether an assignment binds a name to a test of a cadence."""
        if isinstance(value, ast.Constant) and not value.value:
            return  # `save = False` before the loop
        test = _asked(value) if type(value) in _MAY_ASK else None
        due = test is not None and guards.is_cadence(test)
        if self._before is not None:
            if not due:
                self._before.append((function, targets))
                return
            for earlier, assigned in self._before:
                self._keep(assigned, earlier, due=False)
            self._before = None
        self._keep(targets, function, due)

    def _keep(self, targets: Sequence[ast.expr], function: int, due: bool) -> None:
        for target in targets:
            if name := _name(target):
                self._due[function, name] = due and self._due.get((function, name), True)


_MAY_ASK = frozenset({ast.Call, ast.IfExp, ast.UnaryOp, ast.Compare, ast.BoolOp})
"""Expressions that may be the test of a cadence."""


def _name(node: ast.expr) -> str:
    """`save` and `self.save`, which a method may set for itself; empty for all else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    return ""


_TESTS = (ast.Compare, ast.BoolOp)


def _asked(value: ast.expr) -> ast.expr | None:
    """The test that a flag holds: `step % n == 0`, `not step % n`, `bool(...)` of it, `... if n else False`."""
    if isinstance(value, ast.Call):
        if not isinstance(value.func, ast.Name) or value.func.id != "bool" or len(value.args) != 1:
            return None
        value = value.args[0]
    if isinstance(value, ast.IfExp) and isinstance(value.orelse, ast.Constant) and not value.orelse.value:
        value = value.body
    negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    return value if negated or isinstance(value, _TESTS) else None
