"""Loops that add to each parameter what is kept for it, where `torch._foreach_add_(parameters, shifts)` does it.

    for name, p in model.named_parameters():           for p, shift in zip(model.parameters(), shifts):
        if name in shifts:                                  p.data += scale * shift
            p.add_(scale * shifts[name])

As adversarial perturbations of weights do before a pass, and back after it. Gradients are other loops' business
(descents.py, foreach_forms.py), and noise is made parameter by parameter in any case.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.optimizers.foreach_forms import statements_of
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of

_SAME = frozenset({"data", "detach", "to", "view_as", "type_as"})
"""What gives the tensor that it is asked of, on another device or in another shape at most."""
_SIGNS = (ast.Mult, ast.Div)


def shifts(loop: ast.For) -> bool:
    """Whether all that the turns do is to add, in place, something of this turn to the tensor of this turn."""
    turned = names_of(loop.target)
    looked_up: set[str] = set()
    shifted = 0
    for statement in statements_of(loop):
        if isinstance(statement, ast.Pass | ast.Continue | ast.Assert):
            continue
        found = _shift(statement)
        if found is not None:
            changed, added = found
            if not _is_of_turn(changed, turned) or not _is_kept(added, turned | looked_up, changed):
                return False
            shifted += 1
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            if len(statement.targets) > 1 or not _is_kept(statement.value, turned | looked_up, None):
                return False
            looked_up.add(statement.targets[0].id)
        else:
            return False
    return shifted > 0


def _shift(statement: ast.stmt) -> tuple[ast.expr, ast.expr] | None:
    """What a statement adds to in place, or takes from, and what."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add | ast.Sub):
        return statement.target, statement.value
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    told = call.func.attr in ("add_", "sub_") and all(k.arg == "alpha" for k in call.keywords)
    return (call.func.value, call.args[0]) if told else None


def _is_of_turn(changed: ast.expr, turned: set[str]) -> bool:
    """`p`, `p.data`, `parameters[name]`: what the turn names."""
    while isinstance(changed, ast.Attribute) and changed.attr == "data":
        changed = changed.value
    if isinstance(changed, ast.Subscript):
        return isinstance(changed.slice, ast.Name) and changed.slice.id in turned
    return isinstance(changed, ast.Name) and changed.id in turned


def _is_kept(added: ast.expr, turned: set[str], changed: ast.expr | None) -> bool:
    """Whether a value is a tensor that is kept for the turn, perhaps scaled by numbers; not one of gradients."""
    if "grad" in ast.unparse(added) or (changed is not None and chain(changed) == chain(added) != ""):
        return False
    return _tensors(added, turned) == 1


def _tensors(node: ast.expr, turned: set[str]) -> int:
    """How many tensors of the turn a product holds; two or more where it holds anything else than products."""
    if isinstance(node, ast.UnaryOp):
        return _tensors(node.operand, turned)
    if isinstance(node, ast.BinOp):
        if not isinstance(node.op, _SIGNS):
            return 2
        return _tensors(node.left, turned) + _tensors(node.right, turned)
    if isinstance(node, ast.Call):
        same = isinstance(node.func, ast.Attribute) and node.func.attr in _SAME
        return _tensors(node.func.value, turned) if same and isinstance(node.func, ast.Attribute) else 2
    if isinstance(node, ast.Attribute) and node.attr in _SAME:
        return _tensors(node.value, turned)
    if isinstance(node, ast.Subscript):
        return int(isinstance(node.slice, ast.Name) and node.slice.id in turned)
    return int(isinstance(node, ast.Name) and node.id in turned)
