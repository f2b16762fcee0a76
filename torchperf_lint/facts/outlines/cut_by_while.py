"""Loops that count through a list by hand and cut a batch off in each turn, as `range` with a stride would.

    i = 0
    while i < len(texts):
        batch = texts[i : i + size]
        ...
        i += size
"""

from __future__ import annotations

import ast


def as_range(loop: ast.While) -> ast.Call | None:
    """`range(0, len(texts), size)` for a loop that takes so many at once; None for any other."""
    test = loop.test
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Name) or not isinstance(test.ops[0], ast.Lt):
        return None
    counter = test.left.id
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    taken = {_taken(node, counter) for node in nodes if isinstance(node, ast.Slice)}
    steps = (node.value for node in nodes if isinstance(node, ast.AugAssign) and _counts(node, counter))
    step = next((step for step in steps if ast.unparse(step) in taken), None)
    if step is None:
        return None
    return ast.Call(ast.Name("range"), [ast.Constant(0), test.comparators[0], step], [])


def _taken(part: ast.Slice, counter: str) -> str:
    """`size` of `[i : i + size]`; empty for other slices."""
    lower, upper = part.lower, part.upper
    if not isinstance(lower, ast.Name) or lower.id != counter or not isinstance(upper, ast.BinOp):
        return ""
    begins = isinstance(upper.op, ast.Add) and isinstance(upper.left, ast.Name) and upper.left.id == counter
    return ast.unparse(upper.right) if begins else ""


def _counts(node: ast.AugAssign, counter: str) -> bool:
    """`i += size`."""
    return isinstance(node.op, ast.Add) and isinstance(node.target, ast.Name) and node.target.id == counter
