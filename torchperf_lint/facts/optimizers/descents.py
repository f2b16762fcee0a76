"""Whether the turns of a loop over parameters take the step of plain SGD, and nothing else.

    p -= lr * p.grad                   p.data.add_(p.grad, alpha=-lr)         p.data.sub_(p.grad.data / steps)

Against the gradient, by the gradient itself: steps along it, by its sign, of a length of their own or with noise are
no such steps, `p.add_(lr * p.grad)`, `p -= lr * p.grad / p.grad.norm()`; `torch.optim.SGD` does not take them.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.optimizers.foreach_forms import statements_of
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of


def descends(loop: ast.For) -> bool:
    """Whether one such step is all that the turns do, perhaps behind a test for a gradient."""
    done = [s for s in statements_of(loop) if not isinstance(s, ast.Pass | ast.Continue)]
    return len(done) == 1 and _is_descent(done[0], names_of(loop.target))


def _is_descent(statement: ast.stmt, turned: set[str]) -> bool:
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Sub | ast.Add):
        sign = 1 if isinstance(statement.op, ast.Add) else -1
        return _goes_down(statement.target, [statement.value], sign, turned)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("add_", "sub_") or len(call.args) > 2:
        return False
    sign, alpha = 1 if call.func.attr == "add_" else -1, keyword(call, "alpha")
    # `p.add_(-lr, p.grad)`, as it was written before torch 1.5.
    return _goes_down(call.func.value, [*call.args, *([alpha] if alpha is not None else [])], sign, turned)


def _goes_down(changed: ast.expr, factors: list[ast.expr], sign: int, turned: set[str]) -> bool:
    """Whether the product of some factors, one of them the gradient of what is changed, is taken off it."""
    name = chain(changed).removesuffix(".data")
    if not name.isidentifier():
        return False
    signs = [_scaled(factor, name, turned) for factor in factors]
    gradients = 0
    for part in signs:
        if part is None:
            return False
        sign, gradients = sign * part[0], gradients + part[1]
    return gradients == 1 and sign < 0


def _scaled(node: ast.expr, name: str, turned: set[str]) -> tuple[int, int] | None:
    """(the sign that is written, how many gradients) of a product; None where a gradient is anything but a factor."""
    if _is_gradient_of(node, name):
        return 1, 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _scaled(node.operand, name, turned)
        return (-inner[0], inner[1]) if inner is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
        left, right = _scaled(node.left, name, turned), _scaled(node.right, name, turned)
        if left is None or right is None or (right[1] and isinstance(node.op, ast.Div)):
            return None
        return left[0] * right[0], left[1] + right[1]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return -1 if node.value < 0 else 1, 0
    # A number by some name; what a turn has of its own is no such number: a mask, a rate, what is made of the gradient.
    return None if turned & names_of(node) else (1, 0)


def _is_gradient_of(node: ast.expr, name: str) -> bool:
    """`p.grad`, `p.grad.data`, `p.grad.detach()`, `p.grad.data.clone()`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("detach", "clone"):
        return not node.args and _is_gradient_of(node.func.value, name)
    return isinstance(node, ast.Attribute) and chain(node) in (f"{name}.grad", f"{name}.grad.data", f"{name}.data.grad")
