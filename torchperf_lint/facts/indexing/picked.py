"""Values that are computed, element by element or row by row, from what one mask picks: `torch.where` computes them for
all."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.indexing import row_wise
from torchperf_lint.facts.indexing.selections import Selection, key_of
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal

_HOPS = 3
ELEMENTWISE = frozenset(
    "abs acos asin atan atan2 ceil clamp clamp_min clamp_max clip cos cosh detach clone div divide exp expm1 float "
    "double half long int bool bfloat16 to type type_as floor frac lerp log log10 log1p log2 maximum minimum mul "
    "multiply neg negative pow reciprocal relu round rsqrt sigmoid sign sin sqrt square sub subtract add tan tanh "
    "true_divide logical_not logical_and logical_or isnan isinf isfinite isclose eq ne lt le gt ge softplus logit "
    "nan_to_num where contiguous unsqueeze cuda softsign elu silu gelu logsigmoid huber xlogy erf".split()
)
"""Methods and functions whose result has an element for each of what they are given."""
_LOSSES = frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div".split()
)
"""Losses that do so where they are told not to reduce."""


def is_by_mask(selection: Selection, target: ast.expr) -> bool:
    """Whether a subscript, read or written, is by the very mask of a selection."""
    if not isinstance(target, ast.Subscript):
        return False
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    written = ast.unparse(selection.mask)
    return any(ast.unparse(p) == written and key_of(selection.spot, p) == selection.key for p in parts)


def fits(selection: Selection, value: ast.expr, hops: int = _HOPS) -> bool:
    """Whether a value is computed, each element or row for itself, from what the same mask picks, and from numbers."""
    if isinstance(value, ast.BinOp):
        return fits(selection, value.left, hops) and fits(selection, value.right, hops)
    if isinstance(value, ast.UnaryOp):
        return fits(selection, value.operand, hops)
    if (isinstance(value, ast.Subscript) and is_by_mask(selection, value)) or _selects_by_mask(selection, value):
        return True
    if isinstance(value, ast.Call):
        return _call_fits(selection, value, hops)
    known = selection.spot.file.value(value, selection.spot)
    if known.kind == "plain":
        return True
    if isinstance(value, ast.Attribute) and value.attr == "values" and isinstance(value.value, ast.Call):
        return fits(selection, value.value, hops)  # `x[mask].max(1).values`
    if isinstance(value, ast.Attribute) and chain(value).startswith("self."):
        return known.kind == "tensor"  # a parameter or buffer: one row for all of them
    if isinstance(value, ast.Name) and hops > 0:
        return _name_fits(selection, value, hops)
    return False


def _selects_by_mask(selection: Selection, value: ast.expr) -> bool:
    """`x.masked_select(mask)`, `torch.masked_select(x, mask)`: what `x[mask]` is."""
    if not isinstance(value, ast.Call) or last_part(chain(value.func)) != "masked_select" or not value.args:
        return False
    mask = value.args[-1]
    same = ast.unparse(mask) == ast.unparse(selection.mask)
    return same and key_of(selection.spot, mask) == selection.key


def _name_fits(selection: Selection, value: ast.Name, hops: int) -> bool:
    body = selection.spot.file.project.body(selection.spot.file.path)
    assert body is not None
    reaching = body.reaching(selection.spot.function, value.id, body.at(value)) or ()
    made = [d.value for d in reaching if d.how == "assign" and d.value is not None]
    if any(True for _ in written_into(body, selection.spot.function, value.id)):
        return False  # `sel[1:] = sel[1:] - sel[:-1]`: its elements are neighbours
    return bool(made) and len(made) == len(reaching) and all(fits(selection, one, hops - 1) for one in made)


def _call_fits(selection: Selection, call: ast.Call, hops: int) -> bool:
    name = last_part(chain(call.func)).rstrip("_")
    denoted = selection.spot.file.denotes(call.func, selection.spot) or ""
    of_torch = api.is_torchs_own(denoted)
    dims = call.args[1:] if of_torch else call.args
    if name in ("mean", "sum", "max", "min", "item") and not dims and not call.keywords:
        return True  # one number for all of them
    if name in ("view", "reshape", "expand") and isinstance(call.func, ast.Attribute) and not of_torch:
        return fits(selection, call.func.value, hops)
    if name == "repeat" and isinstance(call.func, ast.Attribute) and not of_torch:
        along = len(dims) > 1 and isinstance(dims[0], ast.Constant) and dims[0].value == 1
        return along and fits(selection, call.func.value, hops)  # each beside itself: `count[mask].repeat(1, 3)`
    if of_torch and name in ("tensor", "as_tensor") and len(dims) == 0 and call.args:
        return selection.spot.file.value(call.args[0], selection.spot).kind == "plain"  # one number
    if (
        of_torch
        and name in _LOSSES
        and any(k.arg == "reduction" and is_literal(k.value, "none") for k in call.keywords)
    ):
        return all(fits(selection, operand, hops) for operand in call.args)
    if is_larger_of_two(selection, call):
        return all(fits(selection, operand, hops) for operand in call.args)
    rows = row_wise.operands(call, name, of_torch)
    if rows is not None:
        return all(fits(selection, row, hops) for row in rows)
    if name not in ELEMENTWISE or not isinstance(call.func, ast.Attribute):
        return False
    operands = arguments(call)
    if not of_torch:
        operands.append(call.func.value)
    return all(_is_dtype(operand) or fits(selection, operand, hops) for operand in operands)


def is_larger_of_two(selection: Selection, call: ast.Call) -> bool:
    """`torch.max(x[mask], y[mask])`, the larger of two element by element: no number is the second, as a dimension."""
    denoted = selection.spot.file.denotes(call.func, selection.spot)
    if denoted not in ("torch.max", "torch.min") or len(call.args) != 2 or call.keywords:
        return False
    return any(isinstance(operand, ast.Subscript) and is_by_mask(selection, operand) for operand in call.args[1:])


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and (chain(node).startswith("torch.") or node.attr in ("dtype", "device"))
