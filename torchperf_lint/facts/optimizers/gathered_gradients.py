"""Loops that gather gradients step by step, where `torch._foreach_add_` or `torch._foreach_addcmul_` does it at once.

    for p in model.parameters():                         for name, p in model.named_parameters():
        if p.grad is not None:                               fisher[name] += p.grad.data ** 2
            p.squares += p.grad.data ** 2

The diagonal of a Fisher matrix, the importance of weights, gradients of several batches that somebody keeps himself.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.optimizers.foreach_forms import statements_of
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of

_FORMS = frozenset({"pow", "square", "abs", "detach", "clone", "mul", "div"})
"""What is computed of a gradient, element by element, or gives it as it is."""


def gathers(loop: ast.For) -> bool:
    """Whether all that the turns do is to add what is computed of a gradient to a tensor kept for it, and to count."""
    turned = names_of(loop.target)
    gathered = 0
    gradients: set[str] = set()
    for statement in statements_of(loop):
        if isinstance(statement, ast.Pass | ast.Continue):
            continue
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if not _is_of_gradient(statement.value, turned, gradients):
                return False
            gradients.add(statement.targets[0].id)
        elif (added := _added(statement, turned)) is None:
            return False
        elif not isinstance(added, ast.Constant):
            if not _is_of_gradient(added, turned, gradients):
                return False
            gathered += 1
    return gathered > 0


def _added(statement: ast.stmt, turned: set[str]) -> ast.expr | None:
    """What a statement adds, in place, to what is kept for the parameter of the turn."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        kept = _is_kept(statement.target, turned) and not _is_its_own(statement.target, statement.value)
        return statement.value if kept else None
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    adds = call.func.attr == "add_" and all(k.arg == "alpha" for k in call.keywords)
    kept = adds and _is_kept(call.func.value, turned) and not _is_its_own(call.func.value, call.args[0])
    return call.args[0] if kept else None


def _is_kept(target: ast.expr, turned: set[str]) -> bool:
    """`p.squares`, `squares[name]`, `square` of a list beside that of the parameters; gradients are no keepers."""
    plain = isinstance(target, ast.Name | ast.Attribute | ast.Subscript)
    return plain and bool(names_of(target) & turned) and ".grad." not in f"{chain(target)}."


def _is_its_own(target: ast.expr, added: ast.expr) -> bool:
    """`p += p.grad`, `p.data.add_(p.grad)`: a step along the gradient."""
    return chain(target).removesuffix(".data") in {n.id for n in ast.walk(added) if isinstance(n, ast.Name)}


def _is_of_gradient(node: ast.expr, turned: set[str], gradients: set[str]) -> bool:
    """Whether an expression is computed of one gradient, with numbers at most beside it."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.Mult | ast.Div):
        sides = [node.left] if isinstance(node.right, ast.Constant | ast.Name) else [node.left, node.right]
        return all(_is_of_gradient(side, turned, gradients) for side in sides)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FORMS:
        return _is_of_gradient(node.func.value, turned, gradients)
    if isinstance(node, ast.Attribute):
        if node.attr == "grad":
            return bool(names_of(node) & turned)
        return node.attr == "data" and _is_of_gradient(node.value, turned, gradients)
    return isinstance(node, ast.Name) and node.id in gradients
