"""Values that are written through a mask, and that were not selected themselves: `x[mask] = features`.

`x.masked_scatter_(mask, features)` puts them there without a count: a running sum of the mask, on the device, says
which value goes where. What was selected before has been counted before, and gains little.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.masks import is_mask, may_be_mask
from torchperf_lint.facts.indexing.selections import Selection
from torchperf_lint.facts.syntax.chains import chain, last_part

_HOPS = 4
_COUNTS = frozenset({"nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "nms", "batched_nms"})
"""Calls whose result is as large as the data say."""
_ASPECTS = frozenset({"device", "dtype", "shape", "ndim", "T", "mT", "data"})


def is_scattered(selection: Selection, value: ast.expr) -> bool:
    """Whether a tensor is written through one mask, beside slices only, and no selection in the function gave it."""
    target = selection.spot.expression
    if not isinstance(target, ast.Subscript) or not _is_laid_out(target.slice, selection.mask):
        return False
    return not _selected(selection, value, _HOPS, set())


def _is_laid_out(index: ast.expr, mask: ast.expr) -> bool:
    """Whether what the mask picks lies one after the other, as the values do: no indices stand beside it."""
    others = [part for part in index.elts if part is not mask] if isinstance(index, ast.Tuple) else []
    return all(isinstance(part, ast.Slice | ast.Constant) for part in others)


def _selected(selection: Selection, node: ast.expr, hops: int, seen: set[str]) -> bool:
    """Whether a selection goes into a value, as far as the function shows; what it does not show counts as one."""
    spot = selection.spot
    values, body = spot.file.project.values, spot.file.project.body(spot.file.path)
    assert body is not None
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and _counts(part):
            return True
        if isinstance(part, ast.Attribute) and _is_put_away(selection, part):
            return True
        if isinstance(part, ast.Subscript):
            indices = part.slice.elts if isinstance(part.slice, ast.Tuple) else [part.slice]
            frame = spot.frame
            if any(may_be_mask(i) and is_mask(values, i, frame) for i in indices):
                return True
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id not in seen:
            if not hops:
                return True
            seen.add(part.id)
            for d in body.reaching(spot.function, part.id, body.at(part)) or ():
                if d.value is not None and _selected(selection, d.value, hops - 1, seen):
                    return True
    return False


def _is_put_away(selection: Selection, node: ast.Attribute) -> bool:
    """`ctx.numerator`: another function has set it, and may have selected it."""
    if not isinstance(node.value, ast.Name) or node.attr in _ASPECTS:
        return False
    parent = selection.spot.file.enclosing(selection.spot.function).parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return False
    of = selection.spot.file.project.values
    return of.thing(node, selection.spot.frame) is None and of.of(node, selection.spot.frame).kind == "unknown"


def _counts(call: ast.Call) -> bool:
    name = last_part(chain(call.func))
    return name in _COUNTS or (name == "where" and len(call.args) == 1)
