"""What is done with the places of a mask's elements: `rows = mask.nonzero()`, and then `x[rows] = y[rows]`.

The same without places, `x = torch.where(mask, y, x)`, needs no count. And losses that end as `reduction` asks for.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.enclosing import Enclosing
from torchperf_lint.facts.picked import fits
from torchperf_lint.facts.scattered import is_scattered
from torchperf_lint.facts.selections import STORE, Selection, key_of
from torchperf_lint.patterns import pattern

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
