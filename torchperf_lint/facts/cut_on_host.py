"""Batches that a loop cuts out of a tensor in host memory, and copies one by one.

    data = torch.from_numpy(array)
    for i in range(0, len(data), 64):
        x = data[i : i + 64].to(device)

All of it crosses the bus in every epoch, and the host waits for each piece.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.devices import moves_to_device
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.source import Site
from torchperf_lint.facts.value import HOST, Value
from torchperf_lint.model import Confidence

_SEVERAL = frozenset({"tensor", "array", "sequence", "batch"})
"""What chooses several entries."""


class CutOnHost(NamedTuple):
    """What a hot move takes out of the tensor that stays on the host."""

    whole: ast.Name
    value: Value
    """Of the whole."""
    rows: bool
    """Whether the piece is some rows in a row, which lie in pinned memory where the whole does; others are gathered."""


def cut_on_host(site: Site) -> CutOnHost | None:
    """The tensor made before the loop in sight that a move of its body cuts a piece from, another in each turn."""
    span = _loop_of(site)
    cut = _cut(site, span) if span is not None else None
    if cut is None or span is None or not isinstance(cut.value, ast.Name):
        return None
    if not _is_walked(cut.slice) and not _chooses_several(site, cut.slice):
        return None
    value = site.file.value(cut.value, site)
    known = value.kind == "tensor" and value.device == HOST and value.confidence.at_least(Confidence.LIKELY)
    if not known or value.origins or _is_bound_within(site, cut.value.id, span):
        return None
    moved = moves_to_device(site.file.project.values, site.call, site.frame)
    return CutOnHost(cut.value, value, isinstance(cut.slice, ast.Slice)) if moved else None


def _loop_of(site: Site) -> tuple[Position, Position] | None:
    """From where to where the loop that makes a site hot turns; None where that is another function's."""
    loop = site.hot.loop if site.hot is not None and not site.hot.depth else None
    if loop is None or loop[0] != site.file.path:
        return None
    region = site.file.outline.regions[loop[1]]
    return ((region.head, 1), region.end) if region.function == site.function else None


def _cut(site: Site, span: tuple[Position, Position]) -> ast.Subscript | None:
    """`x[i:j]` of `x[i:j].to(d)`, of methods in between, and of a name that the loop binds to it."""
    body, node = site.file.project.body(site.file.path), site.receiver
    if isinstance(node, ast.Name) and body is not None:
        bound = body.assigned_once(site.function, node.id, site.start)
        node = bound if bound is not None and span[0] <= body.at(bound) < span[1] else None
    return node if isinstance(node, ast.Subscript) else None


def _is_walked(index: ast.expr) -> bool:
    """Whether some slice of an index begins or ends where a variable says: `i : i + n`, `:, i:j`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    bounds = [bound for part in parts if isinstance(part, ast.Slice) for bound in (part.lower, part.upper)]
    return any(not isinstance(bound, ast.Constant) for bound in bounds if bound is not None)


def _chooses_several(site: Site, index: ast.expr) -> bool:
    """Whether an index is a tensor, an array or a list."""
    return not isinstance(index, ast.Tuple | ast.Slice) and site.file.value(index, site).kind in _SEVERAL


def _is_bound_within(site: Site, name: str, span: tuple[Position, Position]) -> bool:
    body = site.file.project.body(site.file.path)
    bound = body.definitions(site.function).get(name, ()) if body is not None else ()
    return any(span[0] <= definition.at < span[1] for definition in bound)
