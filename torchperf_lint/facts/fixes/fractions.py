"""Whether an expression is known to be one number in a tensor without dimensions: a loss, a mean, a count.

Such tensors can be stacked and read together; floating-point numbers without a change of their values, for a wider
dtype holds all of them. What has one element may have dimensions all the same, as `x.sum(0, keepdim=True)` of a row
does: it does not stack with a loss.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.records import END_OF_FILE

_LOSSES = frozenset(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy kl_div "
    "binary_cross_entropy_with_logits".split()
)
_LOSS_MODULES = frozenset(
    "CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss BCEWithLogitsLoss KLDivLoss".split()
)
_NORMS = frozenset({"torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad.clip_grad_norm_"})
_AVERAGES = frozenset({"mean", "norm", "std", "var"})
"""What gives one floating-point number when it is given no argument."""
_REDUCTIONS = _AVERAGES | frozenset("sum max min prod any all argmax argmin median nanmean count_nonzero".split())
"""What gives one number of any dtype when it is given no argument."""
_FLOATS = frozenset({"float", "double", "half", "bfloat16"})
_SAME_SHAPE = _FLOATS | {"detach", "clone", "abs", "exp", "sqrt"}
_DEPTH = 8


def is_fraction(site: Place, node: ast.expr, at: tuple[int, int]) -> bool:
    """Whether an expression of the function around `site`, evaluated at a place, is one floating-point number without
    dimensions; else it is not known."""
    return _is_one(site, node, at, _AVERAGES, 0)


def has_no_dimensions(site: Place, node: ast.expr, at: tuple[int, int]) -> bool:
    """Whether such an expression is one number without dimensions, of whatever dtype; else it is not known."""
    return _is_one(site, node, at, _REDUCTIONS, 0)


def _is_one(site: Place, node: ast.expr, at: tuple[int, int], reducing: frozenset[str], depth: int) -> bool:
    if depth > _DEPTH:
        return False
    if isinstance(node, ast.Name):
        body = site.file.project.body(site.file.path)
        reaching = (body.reaching(site.function, node.id, at) if body is not None else None) or []
        return bool(reaching) and all(_is_assigned(site, d, reducing, depth + 1) for d in reaching)
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.USub) and _is_one(site, node.operand, at, reducing, depth + 1)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        known = [_is_one(site, side, at, reducing, depth + 1) for side in sides]
        return any(known) and all(k or isinstance(s, ast.Constant) for k, s in zip(known, sides, strict=True))
    return isinstance(node, ast.Call) and _is_call_of_one(site, node, at, reducing, depth)


def _is_assigned(site: Place, definition: Definition, reducing: frozenset[str], depth: int) -> bool:
    if definition.how != "assign" or definition.index or definition.value is None:
        return False
    body = site.file.project.body(site.file.path)
    assert body is not None
    return _is_one(site, definition.value, body.at(definition.value), reducing, depth)


def _is_call_of_one(
    site: Place, node: ast.Call, at: tuple[int, int], reducing: frozenset[str], depth: int
) -> bool:
    dotted = site.file.denotes(node.func, site) or ""
    if dotted in _NORMS:
        return True
    if dotted.startswith("torch.") and "()" not in dotted and not dotted.startswith("torch.Tensor."):
        name = dotted.rpartition(".")[2]
        if name in _LOSSES:
            return len(node.args) <= 2 and _is_reduced(node)
        return dotted == "torch.mean" and len(node.args) == 1 and not node.keywords
    if isinstance(node.func, ast.Name) and _is_loss_module(site, node.func.id, at):
        return len(node.args) == 2 and not node.keywords
    if not isinstance(node.func, ast.Attribute) or node.args or node.keywords:
        return False
    receiver = node.func.value
    if node.func.attr in reducing:
        return site.file.project.values.of(receiver, site.frame._replace(at=at)).kind == "tensor"
    if node.func.attr == "sum":
        converted = isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute) and not receiver.args
        return converted and receiver.func.attr in _FLOATS  # type: ignore[attr-defined]
    return node.func.attr in _SAME_SHAPE and _is_one(site, receiver, at, reducing, depth + 1)


def _is_reduced(node: ast.Call) -> bool:
    """Whether a loss is one number, as it is unless it is told otherwise."""
    told = {k.arg: k.value for k in node.keywords}
    reduction = told.get("reduction")
    plain = reduction is None or (isinstance(reduction, ast.Constant) and reduction.value in ("mean", "sum"))
    return plain and not told.keys() & {None, "reduce", "size_average"}


def _is_loss_module(site: Place, name: str, at: tuple[int, int]) -> bool:
    """Whether a name is `nn.CrossEntropyLoss()`, made in the function or at the top of the file."""
    body = site.file.project.body(site.file.path)
    if body is None:
        return False
    if any(parameter.name == name for parameter in site.file.outline.functions[site.function].parameters):
        return False
    found = body.reaching(site.function, name, at) or body.reaching(0, name, END_OF_FILE) or []
    made = found[0].value if len(found) == 1 and found[0].how == "assign" and not found[0].index else None
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr in ("to", "cuda"):
        made = made.func.value
    if not isinstance(made, ast.Call):
        return False
    package, _, last = (site.file.denotes(made.func, site) or "").rpartition(".")
    return package.startswith("torch.nn") and last in _LOSS_MODULES and not made.args and _is_reduced(made)
