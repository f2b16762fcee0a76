"""Loops that copy one list of tensors into another, where `torch._foreach_copy_(into, of)` does all of them at once.

    for model, master in zip(model_params, master_params):
        model.data.copy_(master.data)

As weights in half precision are brought up to their masters after each step, and gradients the other way before it.
Buffers are fewer, and go with what a moving average does of weights.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.optimizers.foreach_forms import statements_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_SAME = frozenset({"data", "grad"})
"""What a turn may take of the tensors that it copies."""
_KEPT = ("detach", "float", "half", "to")
"""What may be asked of the tensor that is copied: `copy_` converts as well."""


def copies(loop: ast.For) -> bool:
    """Whether all that the turns do is to copy one tensor of the turn into another, or into its gradient."""
    if not isinstance(loop.target, ast.Tuple | ast.List) or "buffers" in ast.unparse(loop.iter):
        return False
    turned, copied = names_of(loop.target), 0
    for statement in statements_of(loop):
        if _is_copy(statement, turned):
            copied += 1
        elif not isinstance(statement, ast.Pass | ast.Continue) and not _sets_gradient(statement, turned):
            return False
    return copied > 0


def _is_copy(statement: ast.stmt, turned: set[str]) -> bool:
    """`p.data.copy_(q.data)`, `master.grad.copy_(model.grad)`, of two variables of the loop."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "copy_":
        return False
    into, of = _owner(call.func.value), _owner(call.args[0]) if call.args else ""
    return into in turned and of in turned and into != of


def _owner(node: ast.expr) -> str:
    """The name whose tensor, or gradient, an expression is; empty for others."""
    while isinstance(node, ast.Call) and last_part(chain(node.func)) in _KEPT and isinstance(node.func, ast.Attribute):
        node = node.func.value
    name, *parts = chain(node).split(".")
    return name if set(parts) <= _SAME else ""


def _sets_gradient(statement: ast.stmt, turned: set[str]) -> bool:
    """`master.grad = torch.empty_like(master)`, where there is none yet, and `master.grad = None`."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return bool(targets) and all(
        isinstance(target, ast.Attribute) and target.attr == "grad" and chain(target.value) in turned
        for target in targets
    )
