"""Running averages by their form: two products whose weights sum to one, of which one is of the average itself.

    mean = 0.9 * mean + 0.1 * x            self.mean = self.mean * self.momentum + x * (1 - self.momentum)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_NEARLY = 1e-9


def averages(target: ast.expr, old: ast.expr, new: ast.expr) -> bool:
    """Whether `target = old + new` is a running average, of which `old` is the share of what it was before."""
    written = ast.unparse(target)
    kept = [weight for weight, of in _weights(old) if ast.unparse(of) == written]
    return any(_sum_to_one(weight, other) for weight in kept for other, _ in _weights(new))


def _weights(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each factor of a product, with the other."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node.left, node.right
        yield node.right, node.left


def _sum_to_one(a: ast.expr, b: ast.expr) -> bool:
    """`0.9` and `0.1`, `m` and `1 - m`."""
    if isinstance(a, ast.Constant) and isinstance(b, ast.Constant):
        numbers = [side.value for side in (a, b)]
        return all(isinstance(n, float) for n in numbers) and abs(sum(numbers) - 1) < _NEARLY  # type: ignore[arg-type]
    return _is_rest(a, b) or _is_rest(b, a)


def _is_rest(node: ast.expr, weight: ast.expr) -> bool:
    """`1 - weight`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Sub):
        return False
    return isinstance(node.left, ast.Constant) and node.left.value == 1 and _same(node.right, weight)


def _same(a: ast.expr, b: ast.expr) -> bool:
    return ast.unparse(a) == ast.unparse(b)
