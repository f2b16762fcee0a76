"""Rows of a table of indices that an object holds.

    self.planes = [[0, 1], [0, 2], [1, 2]]         x[..., self.planes[0]], x[..., self.planes[1]]

Each is a list of Python's, which becomes a tensor in host memory where it indexes one.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.held import set_by_constructors
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.literals import literal_of


def table_of_row(spot: Spot, index: ast.expr) -> ast.Attribute | None:
    """The attribute that a row is taken from, where only constructors set it, and to lists of whole numbers.

    A table of tuples is left alone: `x[self.places[0]]` takes one as an index of several axes, which need no copy.
    """
    taken = isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Name | ast.Constant | ast.UnaryOp)
    table = index.value if taken and isinstance(index, ast.Subscript) else None
    if not isinstance(table, ast.Attribute) or not isinstance(table.value, ast.Name):
        return None
    values = spot.file.project.values
    own = values.index.class_of(spot.file.path, spot.function)
    if own is None or values.thing(table.value, spot.frame) != own:
        return None
    set_to = set_by_constructors(values, own, table)
    return table if set_to and all(map(_holds_lists, set_to)) else None


def _holds_lists(node: ast.expr) -> bool:
    rows = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return bool(rows) and all(
        isinstance(row, ast.List) and bool(row.elts) and all(type(literal_of(each)) is int for each in row.elts)
        for row in rows
    )
