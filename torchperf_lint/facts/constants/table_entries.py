"""Entries of a table that a module keeps on the host, of which each step uploads another.

    noise_level = torch.FloatTensor([self.levels[t]]).repeat(n, 1).to(x.device)     # self.levels: an array of numpy's

As a buffer the table is on the device, and `self.levels[t]` is a view of it, without a copy.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.constants.held import held_since_construction
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def is_entry(values: Values, data: ast.expr, frame: Frame) -> bool:
    """Whether numbers are nothing but entries of such tables, each at a number: `[self.levels[t]]`."""
    while isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1:
        data = data.elts[0]
    parts = data.elts if isinstance(data, ast.List | ast.Tuple) else [data]
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not parts or not values.types.is_module_class(own):
        return False
    return all(_is_one(values, part, frame) for part in parts)


def _is_one(values: Values, node: ast.expr, frame: Frame) -> bool:
    table = node.value if isinstance(node, ast.Subscript) else None
    if not isinstance(node, ast.Subscript) or not isinstance(table, ast.Attribute) or chain(table.value) != "self":
        return False
    if isinstance(node.slice, ast.Slice | ast.Tuple) or values.of(node.slice, frame).kind != "plain":
        return False
    return values.of(table, frame).kind == "array" and held_since_construction(values, table, frame)
