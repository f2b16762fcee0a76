"""Loops that walk along a tensor until an entry passes a test: one wait for each entry that they pass.

    last = len(boxes) - 1
    while last > 0 and boxes[last].sum() == 0:        # finds where the padding begins
        last -= 1

One copy before the loop, `filled = (boxes.sum(-1) != 0).tolist()`, answers all turns.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.effects import statements
from torchperf_lint.facts.source import Place
from torchperf_lint.facts.syntax import names_of


def walks_along(place: Place) -> bool:
    """Whether a test of `while` reads an entry of a tensor, and the loop only steps on to the next one."""
    loop = _tested_by(place)
    counters = _counters(loop) if loop is not None else frozenset()
    if loop is None or not counters:
        return False
    entries = [n for n in ast.walk(place.expression) if isinstance(n, ast.Subscript)]
    stepped = [entry for entry in entries if names_of(entry.slice) & counters]
    return bool(stepped) and all(_stays(place, loop, entry.value, counters) for entry in stepped)


def _tested_by(place: Place) -> ast.While | None:
    """The loop in whose test a place stands."""
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(place.expression):
        if isinstance(parent, ast.stmt):
            return parent if isinstance(parent, ast.While) and parent.test is node else None
        node = parent
    return None


def _counters(loop: ast.While) -> frozenset[str]:
    """The names that each turn moves on by a number, and nothing else in the loop binds."""
    moved = {
        statement.target.id
        for statement in loop.body
        if isinstance(statement, ast.AugAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(statement.op, ast.Add | ast.Sub)
        and isinstance(statement.value, ast.Constant)
    }
    others = (t for s in statements(loop.body) if isinstance(s, ast.Assign) for t in s.targets)
    return frozenset(moved) - {name for target in others for name in names_of(target)}


def _stays(place: Place, loop: ast.While, whole: ast.expr, counters: frozenset[str]) -> bool:
    """Whether what is walked along is one tensor, which no turn changes or hands on."""
    if place.file.value(whole, place).kind != "tensor" or names_of(whole) & counters:
        return False
    written = chain(whole)
    root = written.partition(".")[0].partition("[")[0]
    if not root.isidentifier():
        return False
    for statement in loop.body:
        if any(isinstance(node, ast.Name) and node.id == root for node in ast.walk(statement)):
            return False
    return True
