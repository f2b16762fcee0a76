"""Branches that scale down what is too large, by how much it is too large: a clamped factor does so without asking.

    norm = torch.norm(grad)
    if norm > limit:                   # waits for the norm
        grad = grad * limit / norm     # `grad * (limit / norm).clamp(max=1)`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

_MOST = 2
"""Statements of such a branch: the factor, and what is multiplied by it."""
_IN_PLACE = frozenset({"mul_", "div_"})


def scales_down(branch: ast.If, asked: ast.expr) -> bool:
    """Whether a branch does nothing but multiply by the limit that its test names over what exceeds it."""
    sides = _larger_and_limit(asked if isinstance(asked, ast.Compare) else branch.test)
    if sides is None or branch.orelse or len(branch.body) > _MOST:
        return False
    values = [_given(statement) for statement in branch.body]
    return None not in values and any(_over(value, *sides) for value in values if value is not None)


def _larger_and_limit(test: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`norm` and `limit` of `norm > limit`, and of `limit < norm`."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return None
    if isinstance(test.ops[0], ast.Gt | ast.GtE):
        return test.left, test.comparators[0]
    return (test.comparators[0], test.left) if isinstance(test.ops[0], ast.Lt | ast.LtE) else None


def _given(statement: ast.stmt) -> ast.expr | None:
    """What a statement gives a name, or multiplies it by in place; None for any other statement."""
    if isinstance(statement, ast.Assign | ast.AugAssign):
        return statement.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    return call.args[0] if call.func.attr in _IN_PLACE else None


def _over(value: ast.expr, larger: ast.expr, limit: ast.expr) -> bool:
    """Whether a value holds `limit / norm`, or `x / norm` where the limit is one."""
    one = isinstance(limit, ast.Constant) and limit.value == 1
    for quotient in ast.walk(value):
        if isinstance(quotient, ast.BinOp) and isinstance(quotient.op, ast.Div) and _is(quotient.right, larger):
            return one or any(ast.unparse(part) == ast.unparse(limit) for part in _factors(quotient.left))
    return False


def _is(divisor: ast.expr, larger: ast.expr) -> bool:
    """Whether a divisor is what is too large, or that and a number against division by zero."""
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add):
        divisor = divisor.left
    return ast.unparse(divisor) == ast.unparse(larger)


def _factors(product: ast.expr) -> Iterator[ast.expr]:
    while isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult):
        yield product.right
        product = product.left
    yield product
