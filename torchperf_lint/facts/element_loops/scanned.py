"""Loops that walk along a tensor until an entry passes a test: one wait for each entry that they pass.

    last = len(boxes) - 1
    while last > 0 and boxes[last].sum() == 0:        # finds where the padding begins
        last -= 1

One copy before the loop, `filled = (boxes.sum(-1) != 0).tolist()`, answers all turns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.syntax import names_of, nodes_of

_OF_AN_ENTRY = frozenset("sum any all max min mean abs norm item bool float int long".split())
"""Methods that say something of one entry by itself, and that all entries can be asked at once."""
_OF_AN_INDEX = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.Slice)


def walks_along(place: Place) -> bool:
    """Whether a test of `while` reads an entry of a tensor, and the loop only steps on to the next one."""
    loop = _tested_by(place)
    counters = _counters(loop) if loop is not None else frozenset()
    if loop is None or not counters:
        return False
    asked = [part for part in _parts(loop.test) if _is_within(place.expression, part)]
    return bool(asked) and all(_asks_entry(place, part, counters) for part in asked)


def _tested_by(place: Place) -> ast.While | None:
    """The loop in whose test a place stands."""
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(place.expression):
        if isinstance(parent, ast.stmt):
            return parent if isinstance(parent, ast.While) and parent.test is node else None
        node = parent
    return None


def _counters(loop: ast.While) -> frozenset[str]:
    """The names that each turn moves on by a number, where it does nothing else."""
    moved = {
        statement.target.id
        for statement in loop.body
        if isinstance(statement, ast.AugAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(statement.op, ast.Add | ast.Sub)
        and isinstance(statement.value, ast.Constant)
    }
    return frozenset(moved) if len(moved) == len(loop.body) else frozenset()


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """The tests that `and`, `or` and `not` combine."""
    left = [test]
    while left:
        part = left.pop()
        if isinstance(part, ast.BoolOp):
            left += part.values
        elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
            left.append(part.operand)
        else:
            yield part


def _is_within(expression: ast.expr | ast.stmt, part: ast.expr) -> bool:
    return any(node is expression for node in nodes_of(part)) or any(node is part for node in nodes_of(expression))


def _asks_entry(place: Place, part: ast.expr, counters: frozenset[str]) -> bool:
    """`boxes[k]`, `boxes[k].sum() == 0`: an entry where the counter is, alone or beside what the host knows."""
    sides = [part]
    if isinstance(part, ast.Compare):
        sides = [part.left, *part.comparators]
    entries = [side for side in sides if _is_entry(place, side, counters)]
    rest = [side for side in sides if side not in entries]
    return len(entries) == 1 and all(place.file.value(side, place).kind == "plain" for side in rest)


def _is_entry(place: Place, node: ast.expr, counters: frozenset[str]) -> bool:
    """`boxes[k]`, `boxes[k, 0].item()`, `boxes[k].sum()`, of one tensor whatever the turn."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_AN_ENTRY:
        if any(not isinstance(argument, ast.Constant) for argument in node.args):
            return False
        node = node.func.value
    if not isinstance(node, ast.Subscript) or not names_of(node.slice) & counters:
        return False
    if any(not isinstance(inner, _OF_AN_INDEX) for inner in nodes_of(node.slice)):
        return False
    whole = node.value
    named = all(isinstance(inner, ast.Name | ast.Attribute | ast.expr_context) for inner in ast.walk(whole))
    return named and not names_of(whole) & counters and place.file.value(whole, place).kind == "tensor"
