"""The places of a mask with several dimensions, which index together: `rows, cols = torch.where(m)`, `x[rows, cols]`.

What they take are the elements of the mask, `x[m]`; each alone takes others, some of them several times.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.enclosing import Enclosing


def taken_by_columns(around: Enclosing, column: ast.AST) -> ast.Subscript | None:
    """`x[found[:, 0], found[:, 1]]`, for one of the columns; None where others stand beside them."""
    taken = _indexed_with(around, column)
    parts = taken.slice.elts if taken is not None and isinstance(taken.slice, ast.Tuple) else []
    wholes = {_column_of(part, place) for place, part in enumerate(parts)}
    return taken if len(wholes) == 1 and None not in wholes and len(parts) > 1 else None


def taken_by_names(around: Enclosing, names: list[str], uses: list[ast.Name]) -> list[ast.Subscript] | None:
    """What several names index together, in their order; None where one is used otherwise."""
    found: dict[int, ast.Subscript] = {}
    for use in uses:
        taken = _indexed_with(around, use)
        parts = taken.slice.elts if taken is not None and isinstance(taken.slice, ast.Tuple) else []
        if taken is None or [chain(part) for part in parts] != names:
            return None
        found[id(taken)] = taken
    return list(found.values())


def _indexed_with(around: Enclosing, part: ast.AST) -> ast.Subscript | None:
    """The subscript of whose index an expression is one of several parts."""
    index = around.parents.get(part)
    taken = around.parents.get(index) if isinstance(index, ast.Tuple) else None
    return taken if isinstance(taken, ast.Subscript) and taken.slice is index else None


def _column_of(part: ast.expr, place: int) -> str | None:
    """`found` of `found[:, 1]`, where the column is that of the place; else None."""
    index = part.slice if isinstance(part, ast.Subscript) else None
    if not isinstance(part, ast.Subscript) or not isinstance(index, ast.Tuple) or len(index.elts) != 2:
        return None
    whole, number = index.elts
    numbered = isinstance(number, ast.Constant) and number.value == place
    return chain(part.value) if isinstance(whole, ast.Slice) and numbered and isinstance(part.value, ast.Name) else None
