"""Tensors made on the host only to index one on the device: `x[torch.randperm(n)]` copies them there each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.fresh import Fresh, just_made
from torchperf_lint.facts.reads import on_device
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.spots import Spot, hot_nodes
from torchperf_lint.model import Confidence

MAKES_INDEX = ("arange(", "randperm(", "randint(", "rand(", "_indices(")
"""How what makes an index, or a mask, is written."""


class HostIndex(NamedTuple):
    """An index in host memory of a tensor on the device."""

    spot: Spot
    """The index, where it is used."""
    fresh: Fresh


def host_indices(file: SourceFile) -> Iterator[HostIndex]:
    """The hot subscripts of device tensors by what a factory has just made on the host, one for each tensor made."""
    if not file.mentions(MAKES_INDEX):
        return
    told: set[ast.Call] = set()
    for spot in hot_nodes(file, ast.Subscript):
        assert isinstance(spot.expression, ast.Subscript)
        for index in _indices(spot.expression.slice):
            found = _of(file, spot, spot.expression.value, index)
            if found is not None and found.call not in told:
                told.add(found.call)
                yield HostIndex(spot.at(index), found)


def _indices(node: ast.expr) -> Iterator[ast.expr]:
    """What may be a tensor with dimensions among the indices: one number on the host (`order[0]`) needs no copy."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        several = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice | ast.Tuple)
        if several or isinstance(part, ast.Name | ast.Call | ast.Compare):
            yield part


def _of(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr) -> Fresh | None:
    fresh = just_made(
        file.project.values, index, spot.frame, f"{ast.unparse(base)}.device", confidence=Confidence.LIKELY
    )
    if fresh is None:
        return None
    value = on_device(file, spot, base)
    return fresh if value is not None and value.kind == "tensor" else None
