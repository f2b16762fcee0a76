"""Indices in host memory of tensors on the device: `x[torch.randperm(n)]`, `x[:, [i]]`, `x[self.order]`.

Each use copies them there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants import constancy
from torchperf_lint.facts.fresh import Fresh, just_made
from torchperf_lint.facts.host_numbers import is_host_number
from torchperf_lint.facts.left_behind import LeftBehind, left_behind
from torchperf_lint.facts.reads import on_device
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.spots import Spot, hot_nodes
from torchperf_lint.facts.value import HOST, Value
from torchperf_lint.model import Confidence

_MAKES_INDEX = ("arange(", "randperm(", "randint(", "rand(", "_indices(")
"""How what makes an index, or a mask, is written."""
_MAY_BE_ON_HOST = (*_MAKES_INDEX, "[self.")
_LISTED = re.compile(r"[\w\])]\[(?:[^\[\]\n]*,)?\s*\[[\w\s,.-]+\]")
"""`x[[0, 1]]`, `x[:, [i]]`."""


class HostIndex(NamedTuple):
    """An index in host memory of a tensor on the device."""

    spot: Spot
    """The index, where it is used."""
    base: Value
    """The tensor that it indexes."""
    device: str
    """The device of that, as written."""
    fresh: Fresh | None
    """What made the index; None for a list of numbers, and for what the module holds."""
    held: LeftBehind | None = None
    """The attribute that holds the index on the host."""


def host_indices(file: SourceFile) -> Iterator[HostIndex]:
    """The hot subscripts of device tensors by a list, or by what a factory has just made, one for each tensor made."""
    if not file.mentions(_MAY_BE_ON_HOST) and not _LISTED.search(file.text):
        return
    told: set[ast.Call] = set()
    for spot in hot_nodes(file, ast.Subscript):
        assert isinstance(spot.expression, ast.Subscript)
        for index in _indices(spot.expression.slice):
            found = _of(file, spot, spot.expression.value, index)
            if found is not None and (found.fresh is None or found.fresh.call not in told):
                told.update([found.fresh.call] if found.fresh is not None else [])
                yield found


def _indices(node: ast.expr) -> Iterator[ast.expr]:
    """What may be a tensor with dimensions among the indices: one number on the host (`order[0]`) needs no copy."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        several = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice | ast.Tuple)
        if several or isinstance(part, ast.Name | ast.Call | ast.Compare | ast.List | ast.Attribute):
            yield part


def _of(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr) -> HostIndex | None:
    device = f"{ast.unparse(base)}.device"
    values = file.project.values
    fresh = held = None
    if isinstance(index, ast.List):
        if not _steady(file, spot, index):
            return None
    else:
        held = left_behind(values, index, spot.frame)
        moved = held is not None and values.of(index, spot.frame).device != HOST  # `x[self.order.to(x.device)]`
        held = held if held is not None and held.in_module and not moved else None
        fresh = just_made(values, index, spot.frame, device, Confidence.LIKELY) if held is None else None
        if fresh is None and held is None:
            return None
    value = on_device(file, spot, base)
    if value is None or value.kind != "tensor":
        return None
    return HostIndex(spot.at(index), value, device, fresh, held)


def _steady(file: SourceFile, spot: Spot, index: ast.List) -> bool:
    """Whether a list holds one number, for which there is a slice, or numbers that no step changes."""
    values = file.project.values
    if len(index.elts) == 1 and is_host_number(values, index.elts[0], spot.frame):
        return True
    return bool(index.elts) and constancy(values, index, spot.frame) is not None
