"""Branches that scale down what is too large, by how much it is too large: a clamped factor does so without asking.

    norm = torch.norm(grad)
    if norm > limit:                   # waits for the norm
        grad = grad * limit / norm     # `grad * (limit / norm).clamp(max=1)`
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.syntax import names_of, nodes_of
from torchperf_lint.patterns import pattern

_MOST = 2
"""Statements of such a branch: the factor, and what is multiplied by it."""
_TINY = 0.01
_EPSILON = pattern(r"(?:^|[._])eps(?:ilon)?$")
"""What is added to a divisor against division by zero."""

Quotient = tuple[list[ast.expr], list[ast.expr]]
"""What is multiplied, and what that is divided by."""


def scales_down(branch: ast.If, asked: ast.expr) -> bool:
    """Whether a branch does nothing but multiply by the limit that its test names over what exceeds it."""
    sides = _larger_and_limit(branch.test, asked)
    if sides is None or branch.orelse or len(branch.body) > _MOST:
        return False
    named = _named(branch.body[0]) if len(branch.body) == _MOST else {}
    if len(branch.body) == _MOST and not named.keys() & names_of(branch.body[-1]):
        return False
    factor = _factor(named, branch.body[-1])
    return factor is not None and _is_limit_over(factor, *sides)


def _larger_and_limit(test: ast.expr, asked: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`norm` and `limit` of `norm > limit`, and of `limit < norm`, where the branch is taken only if that holds."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    compared = next((part for part in parts if any(node is asked for node in nodes_of(part))), None)
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return None
    if isinstance(compared.ops[0], ast.Gt | ast.GtE):
        return compared.left, compared.comparators[0]
    return (compared.comparators[0], compared.left) if isinstance(compared.ops[0], ast.Lt | ast.LtE) else None


def _named(statement: ast.stmt) -> dict[str, ast.expr]:
    """The factor that the first of two statements gives a name."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return {statement.targets[0].id: statement.value}
    return {}


def _factor(named: dict[str, ast.expr], statement: ast.stmt) -> Quotient | None:
    """What a statement multiplies its own target by; None for any other statement, `named` being the one before."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Mult | ast.Div):
        over, under = _quotient(statement.value, named)
        return (over, under) if isinstance(statement.op, ast.Mult) else (under, over)
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        over, under = _quotient(statement.value, named)
        own = [part for part in over if _is_same(part, statement.targets[0])]
        return ([part for part in over if part not in own], under) if len(own) == 1 else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    return _quotient(call.args[0], named) if call.func.attr == "mul_" and not call.keywords else None


def _quotient(value: ast.expr, named: dict[str, ast.expr]) -> Quotient:
    """The factors of `x * (limit / norm)`: `x` and `limit`, over `norm`."""
    found: Quotient = ([], [])
    left = [(value, 0)]
    while left:
        node, side = left.pop()
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            left += [(node.left, side), (node.right, 1 - side if isinstance(node.op, ast.Div) else side)]
        elif isinstance(node, ast.Name) and node.id in named:
            left.append((named[node.id], side))
            named = {}  # only once: `x * f * f` is another factor
        else:
            found[side].append(node)
    return found


def _is_limit_over(factor: Quotient, larger: ast.expr, limit: ast.expr) -> bool:
    """Whether a factor is `limit / norm`, the limit left out where it is one, and nothing else."""
    over, under = ([part for part in side if not _is_one(part)] for side in factor)
    if len(under) != 1 or not _is(under[0], larger):
        return False
    return not over if _is_one(limit) else len(over) == 1 and _is_same(over[0], limit)


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _is_same(one: ast.expr, other: ast.expr) -> bool:
    return ast.unparse(one) == ast.unparse(other)


def _is(divisor: ast.expr, larger: ast.expr) -> bool:
    """Whether a divisor is what is too large, or that and a number against division by zero."""
    if isinstance(divisor, ast.BinOp) and isinstance(divisor.op, ast.Add) and _is_tiny(divisor.right):
        divisor = divisor.left
    return _is_same(divisor, larger)


def _is_tiny(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, float) and node.value <= _TINY
    return isinstance(node, ast.Name | ast.Attribute) and _EPSILON.search(ast.unparse(node)) is not None
