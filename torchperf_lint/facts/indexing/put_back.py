"""What is done with the places of a mask's elements: `rows = mask.nonzero()`, and then `x[rows] = y[rows]`.

The same without places, `x = torch.where(mask, y, x)`, needs no count. And losses that end as `reduction` asks for.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.indexing.picked import fits
from torchperf_lint.facts.indexing.scattered import is_scattered
from torchperf_lint.facts.indexing.selections import STORE, Selection, key_of
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.patterns import pattern

_SHAPES = frozenset({"view", "reshape", "contiguous", "squeeze", "unsqueeze", "flatten"})
"""Methods that show the elements of a mask in their order."""
_HOPS = 3
"""Names between a mask and what it was selected by."""
_TO_SCATTER = 2
_REDUCTION = pattern(r"reduc(?:tion|e)|size_average")


def puts_back(selection: Selection, target: ast.Subscript, value: ast.expr) -> bool:
    """Whether what is put at the places is computed, element by element, from what stands at the places."""
    return fits(_store(selection, target), value)


def lays_out(selection: Selection, target: ast.Subscript, value: ast.expr) -> bool:
    """Whether values that lie one after the other are put at all the places of a mask, found in the same line."""
    found = target.slice
    whole = isinstance(found, ast.Call) and last_part(chain(found.func)) in ("nonzero", "where")
    tuples = isinstance(found, ast.Call) and (
        last_part(chain(found.func)) == "where" or any(k.arg == "as_tuple" for k in found.keywords)
    )
    return whole and tuples and is_scattered(_store(selection, target), value)


def scatters_back(selection: Selection, call: ast.Call) -> bool:
    """`x.masked_scatter_(mask, f(x.masked_select(mask)))`: what a mask selects is put back by it, reshaped too.

    The elements of a mask come in one order, whatever `view` makes of it.
    """
    if last_part(chain(call.func)).rstrip("_") != "masked_scatter" or len(call.args) < _TO_SCATTER:
        return False
    return _is_the_mask(selection, call.args[-2]) and fits(selection, call.args[-1])


def _is_the_mask(selection: Selection, mask: ast.expr) -> bool:
    """Whether an expression is the mask of a selection, or shows it in another shape, over several statements too."""
    spot, written = selection.spot, ast.unparse(selection.mask)
    body = spot.file.project.body(spot.file.path)
    for _ in range(_HOPS if body is not None else 0):
        while isinstance(mask, ast.Call) and isinstance(mask.func, ast.Attribute) and mask.func.attr in _SHAPES:
            mask = mask.func.value
        if ast.unparse(mask) == written and key_of(spot, mask) == selection.key:
            return True
        made = body.assigned_once(spot.function, mask.id, body.at(mask)) if isinstance(mask, ast.Name) else None  # type: ignore[union-attr]
        if made is None:
            return False
        mask = made
    return False


def _store(selection: Selection, target: ast.Subscript) -> Selection:
    spot = selection.spot.at(target)
    return Selection(spot, STORE, target.value, target.slice, key_of(spot, target.slice))


def is_unreduced(around: Enclosing, node: ast.Return) -> bool:
    """Whether a loss is handed out as it is where no mean or sum of it is asked for: `reduction="none"`."""
    inner: ast.AST = node
    for parent in around.around(node):
        if isinstance(parent, ast.If) and _REDUCTION.search(ast.unparse(parent.test)):
            return True
        block = getattr(parent, "body", None)
        if isinstance(block, list) and inner in block:
            before = block[: block.index(inner)]
            return any(isinstance(s, ast.If) and _REDUCTION.search(ast.unparse(s.test)) for s in before)
        inner = parent
    return False
