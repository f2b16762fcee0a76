"""Whether a number that is read from the device says how good predictions are: an accuracy, or how many are right.

    correct = (out.argmax(1) == y).sum().item()
    accuracy = torch.eq(predicted, y).float().mean().item() / n

Nothing on the host knows such a number before the device has computed it, and nothing but a log or a bar shows it.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.patterns import pattern

_HITS = pattern(r"^(?:n_|num_|running_|total_)?(?:corrects?|hits|acc|accuracy|top_?[1-9])$")
_PREDICTED = pattern(r"(?:^|_)(?:pred|preds|predict|predicts|predicted|prediction|predictions|predic)(?:_|$)")
_BEST = frozenset({"argmax", "max", "topk"})
"""What makes predictions of scores."""
_KEEPS = frozenset(
    "detach data cpu cuda float double half int long to clone sum mean squeeze view reshape flatten view_as t".split()
)
"""Methods and attributes, and functions of torch, that leave hits what they are."""
_ALIKE = frozenset({"eq", "ne", "not_equal"})
_HOPS = 3


def reads_hits(place: Place) -> bool:
    """Whether one number is read, and that counts right predictions, or is their share."""
    node = place.expression
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "item":
        return _are_hits(place, node.func.value, _HOPS)
    if isinstance(node, ast.Call) and chain(node.func) in ("float", "int") and len(node.args) == 1:
        return _are_hits(place, node.args[0], _HOPS)
    return False


def _are_hits(place: Place, node: ast.expr, hops: int) -> bool:
    while True:
        if isinstance(node, ast.Attribute) and node.attr in _KEEPS:
            node = node.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Mult):
            node = node.right if isinstance(node.left, ast.Constant) else node.left  # `100 * correct / n`
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPS:
            node = node.args[0] if chain(node.func.value) == "torch" and node.args else node.func.value
        else:
            break
    if isinstance(node, ast.Compare):
        return isinstance(node.ops[0], ast.Eq | ast.NotEq) and _compares(place, [node.left, *node.comparators], hops)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ALIKE:
        own = [] if chain(node.func.value) == "torch" else [node.func.value]
        return _compares(place, [*own, *node.args], hops)
    if not isinstance(node, ast.Name):
        return False
    if _HITS.search(node.id):
        return True
    return hops > 0 and any(_are_hits(place, value, hops - 1) for value in _bound(place, node))


def _compares(place: Place, sides: list[ast.expr], hops: int) -> bool:
    """Whether predictions are compared with what they should be: one class, `predicted == 0`, is only counted."""
    if any(isinstance(side, ast.Constant) for side in sides):
        return False
    return any(_is_predicted(place, side, hops) for side in sides)


def _is_predicted(place: Place, node: ast.expr, hops: int) -> bool:
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            if last_part(chain(node.func)) in _BEST:
                return True
            node = node.func
        else:
            node = node.value
    if not isinstance(node, ast.Name):
        return False
    if _PREDICTED.search(node.id):
        return True
    return hops > 0 and any(_is_predicted(place, value, hops - 1) for value in _bound(place, node))


def _bound(place: Place, node: ast.Name) -> list[ast.expr]:
    body = place.file.project.body(place.file.path)
    found = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
    return [d.value for d in found or () if d.how in ("assign", "item") and d.value is not None]
