"""How a mask has to be written to stand beside what it selects from, and what it leaves out.

`x[mask]` takes a mask of fewer dimensions, one for each row; `torch.where(mask, new, x)` lines up the last ones.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.selections import CHANGE, LOAD, STORE, Selection
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.dimensions import dimensions

_REDUCES = frozenset({"any", "all", "sum", "amax", "amin", "max", "min"})
_TESTS = frozenset("isnan isfinite isinf isneginf isposinf logical_not eq ne lt le gt ge abs".split())
"""What gives a mask of the shape of its tensor."""
_OF_NANS = frozenset({"isnan", "isfinite", "isinf", "isneginf", "isposinf"})
_HOPS = 4


def missing_dimensions(selection: Selection) -> int | None:
    """How many dimensions the mask has fewer than what it selects from; None where that is not seen.

    0 too where it is one of several parts of an index, and where no subscript selects.
    """
    spot, values = selection.spot, selection.spot.file.project.values
    node = spot.expression
    by_mask_alone = isinstance(node, ast.Subscript) and node.slice is selection.mask
    if selection.form not in (STORE, CHANGE, LOAD) or not by_mask_alone:
        return 0
    reduced = _reduced(selection, selection.mask, _HOPS)
    if reduced is not None:
        return reduced
    of_base = dimensions(values, selection.base, spot.frame)
    of_mask = dimensions(values, selection.mask, spot.frame) if of_base is not None else None
    return max(of_base - of_mask, 0) if of_base is not None and of_mask is not None else None


def tells_nans(selection: Selection) -> bool:
    """Whether what a mask leaves out is NaN or infinite: `~y.isnan()`, also by a name, and with other tests."""
    return _tells_nans(selection, selection.mask, _HOPS)


def _tells_nans(selection: Selection, node: ast.expr, hops: int) -> bool:
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and last_part(chain(part.func)) in _OF_NANS:
            return True
        if isinstance(part, ast.Compare) and ast.unparse(part.left) == ast.unparse(part.comparators[0]):
            return True
        bound = _bound(selection, part) if hops and isinstance(part, ast.Name) else None
        if bound is not None and _tells_nans(selection, bound, hops - 1):
            return True
    return False


def _reduced(selection: Selection, node: ast.expr, hops: int) -> int | None:
    """0 for a test of each element of what is selected from, 1 for `(x > 0).any(1)`; None for another mask."""
    if ast.unparse(node) == ast.unparse(selection.base):
        return 0
    if isinstance(node, ast.Name):
        bound = _bound(selection, node) if hops else None
        return _reduced(selection, bound, hops - 1) if bound is not None else None
    if isinstance(node, ast.UnaryOp):
        return _reduced(selection, node.operand, hops)
    if isinstance(node, ast.Compare):
        plain = all(isinstance(right, ast.Constant) for right in node.comparators)
        return _reduced(selection, node.left, hops) if plain else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    of_torch = chain(node.func) == f"torch.{node.func.attr}"
    operand, others = (node.args[0], node.args[1:]) if of_torch and node.args else (node.func.value, node.args)
    name = node.func.attr
    if name in _TESTS:
        return _reduced(selection, operand, hops) if all(isinstance(a, ast.Constant) for a in others) else None
    if name not in _REDUCES:
        return None
    axis = next((k.value for k in node.keywords if k.arg in ("dim", "axis")), others[0] if others else None)
    kept = any(k.arg == "keepdim" for k in node.keywords) or len(others) > 1
    last = axis is not None and ast.unparse(axis) in ("1", "-1")
    inner = _reduced(selection, operand, hops) if last and not kept else None
    return inner + 1 if inner is not None else None


def _bound(selection: Selection, name: ast.Name) -> ast.expr | None:
    spot = selection.spot
    body = spot.file.project.body(spot.file.path)
    return body.assigned_once(spot.function, name.id, body.at(name)) if body is not None else None
