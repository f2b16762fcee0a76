"""Tests for the side that a batch is padded on: `mask[:, -1].sum() == mask.shape[0]`.

The tokenizer knows it, and the mask was on the host before it was copied.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.literals import is_literal

_LEAST = 2
"""Batch and sequence: the column at one end of a mask has two indices."""


def asks_padding_side(place: Place) -> bool:
    """Whether a test asks if all rows of a mask are set in the column at one of its ends."""
    asked = place.expression
    if isinstance(asked, ast.Name):
        body = place.file.project.body(place.file.path)
        only = body.assigned_once(place.function, asked.id, body.at(asked)) if body is not None else None
        if only is None:
            return False
        asked = only
    if isinstance(asked, ast.Compare) and len(asked.ops) == 1 and isinstance(asked.ops[0], ast.Eq):
        sides = (asked.left, asked.comparators[0])
        return any(_of_end(side, "sum") for side in sides) and any(_is_rows(place, side) for side in sides)
    return isinstance(asked, ast.expr) and _of_end(asked, "all")


def _of_end(node: ast.expr, method: str) -> bool:
    """`mask[:, -1].sum()`, `mask[:, 0].all()`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != method:
        return False
    column = node.func.value
    if node.args or not isinstance(column, ast.Subscript) or not isinstance(column.slice, ast.Tuple):
        return False
    index = column.slice.elts
    return len(index) == _LEAST and ast.unparse(column.slice) in ("(:, -1)", ":, -1", "(:, 0)", ":, 0")


def _is_rows(place: Place, node: ast.expr) -> bool:
    """`x.shape[0]`, `x.size(0)`, `len(x)`, or a name for one of them."""
    if isinstance(node, ast.Name):
        body = place.file.project.body(place.file.path)
        bound = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
        values = [d.value for d in bound or () if d.how == "assign" and d.value is not None]
        return bool(values) and len(values) == len(bound or ()) and all(_counts_rows(value) for value in values)
    return _counts_rows(node)


def _counts_rows(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        sized = isinstance(node.func, ast.Attribute) and node.func.attr == "size"
        first = node.args[0] if len(node.args) == 1 else None
        if sized:
            return is_literal(first, 0)
        return isinstance(node.func, ast.Name) and node.func.id == "len"
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return False
    return node.value.attr == "shape" and is_literal(node.slice, 0)
