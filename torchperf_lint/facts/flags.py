"""Names that hold whether a cadence is due: `save = step % 100 == 0`, and then `if save:`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts import conditions, guards


class Flags:
    """Those of one file, function by function, as its assignments are read."""

    def __init__(self) -> None:
        self._due: dict[tuple[int, str], bool] = {}

    def of(self, test: ast.expr, function: int) -> guards.Guard | None:
        """What a test of flags holds back: `if save:`, `if save and rank == 0:` or `if save or last:`."""
        parts = test.values if isinstance(test, ast.BoolOp) else [test]
        told = [isinstance(part, ast.Name) and self._due.get((function, part.id)) for part in parts]
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
            rare = any(told) and all(f or guards.is_cadence(part) for f, part in zip(told, parts, strict=True))
        else:
            rare = any(told)
        return guards.Guard("cadence", conditions.short(conditions.words(test))) if rare else None

    def note(self, targets: Sequence[ast.expr], value: ast.expr, function: int) -> None:
        """Keep whether an assignment binds a name to a test of a cadence."""
        if isinstance(value, ast.Constant) and not value.value:
            return  # `save = False` before the loop
        for target in targets:
            if isinstance(target, ast.Name):
                key = function, target.id
                tests = isinstance(value, ast.Compare | ast.BoolOp)
                self._due[key] = tests and guards.is_cadence(value) and self._due.get(key, True)
