"""Loops that do nothing but go on to the row where something ends: `while rows[k].sum() == 0: k -= 1`.

Each turn waits for one row, to learn what the batch was padded to; one count of all rows tells the same.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.source import Place


def seeks_a_row(place: Place) -> bool:
    """Whether a `while` asks for one row after the other, and each turn only counts on."""
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(place.expression):
        if isinstance(parent, ast.While) and parent.test is node:
            counter = _counted_on(parent)
            return counter is not None and _asks_row(place.expression, counter)
        node = parent
    return False


def _counted_on(loop: ast.While) -> str | None:
    """What the turns of a loop count on by one, where they do nothing else."""
    only = loop.body[0] if len(loop.body) == 1 and not loop.orelse else None
    if not isinstance(only, ast.AugAssign) or not isinstance(only.op, ast.Add | ast.Sub):
        return None
    one = isinstance(only.value, ast.Constant) and only.value.value == 1
    return only.target.id if one and isinstance(only.target, ast.Name) else None


def _asks_row(asked: ast.AST, counter: str) -> bool:
    rows = (part.slice for part in ast.walk(asked) if isinstance(part, ast.Subscript))
    return any(isinstance(row, ast.Name) and row.id == counter for row in rows)
