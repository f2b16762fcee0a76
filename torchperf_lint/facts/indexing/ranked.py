"""The largest few of what a mask selects: hard negatives, most of all.

    negative = loss[labels == 0]
    hard, _ = torch.sort(negative, descending=True)
    hard[:count].mean()

As many are taken whatever is selected; filled with what never wins, the whole gives the same ones.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from torchperf_lint.facts.indexing.mask_shapes import missing_dimensions
from torchperf_lint.facts.indexing.selections import LOAD, Selection
from torchperf_lint.facts.syntax.enclosing import Enclosing

Uses = Callable[[str, ast.AST], Iterator[ast.Name]]
"""The places where a name is read that is bound to a value."""


def takes_largest(selection: Selection, call: ast.Call, name: str, given: list[ast.expr], uses: Uses) -> bool:
    """Whether a call ranks what is selected, and no more than the values of the first of them are used.

    :param given: the arguments beside what is ranked
    """
    if selection.form != LOAD or missing_dimensions(selection) or name not in ("topk", "sort"):
        return False
    along = [k for k in call.keywords if k.arg in ("dim", "axis", None)]
    if along or len(given) > (name == "topk"):
        return False
    around = selection.spot.file.enclosing(selection.spot.function)
    values = list(_values(around, call, uses))
    return bool(values) and all(one is not None and (name == "topk" or _is_cut(around, one)) for one in values)


def _values(around: Enclosing, call: ast.Call, uses: Uses) -> Iterator[ast.expr | None]:
    """Where the values are used: `.values`, `[0]`, and the first of two names; None for the places of the elements."""
    parent = around.parents.get(call)
    if isinstance(parent, ast.Attribute):
        yield parent if parent.attr == "values" else None
    elif isinstance(parent, ast.Subscript) and parent.value is call:
        first = isinstance(parent.slice, ast.Constant) and parent.slice.value == 0
        yield parent if first else None
    elif isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Tuple):
        values, places = (*parent.targets[0].elts, None, None)[:2]
        if not isinstance(values, ast.Name) or not isinstance(places, ast.Name):
            yield None
            return
        yield from uses(values.id, call)
        yield from (None for _ in uses(places.id, call))
    else:
        yield None


def _is_cut(around: Enclosing, values: ast.expr) -> bool:
    """`values[:count]`."""
    cut = around.parents.get(values)
    index = cut.slice if isinstance(cut, ast.Subscript) and cut.value is values else None
    return isinstance(index, ast.Slice) and index.lower is index.step is None and index.upper is not None
