"""Indices in host memory of tensors on the device: `x[torch.randperm(n)]`, `x[:, [i]]`. Each use copies them there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.facts.constants import constancy
from torchperf_lint.facts.fresh import Fresh, just_made
from torchperf_lint.facts.host_numbers import is_host_number
from torchperf_lint.facts.left_behind import LeftBehind, left_behind, own_attribute
from torchperf_lint.facts.reads import on_device
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.spots import Spot, hot_nodes
from torchperf_lint.facts.value import DEVICE, HOST, Value
from torchperf_lint.model import Confidence

_MAKES_INDEX = ("arange(", "randperm(", "randint(", "rand(", "_indices(", "permutation(")
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
    """What made the index; None for a list of numbers, and for what was there before."""
    source: str = "a list is host memory"
    """What an index is that nothing has just made."""
    held: LeftBehind | None = None
    """The attribute of a module that the index is."""
    of: Position = (0, 0)
    """Where the subscript stands: several indices of one are copied at once."""


def host_indices(file: SourceFile) -> Iterator[HostIndex]:
    """The hot subscripts of device tensors by a list, or by what a factory has just made, one for each tensor made."""
    if not file.mentions(_MAY_BE_ON_HOST) and not _LISTED.search(file.text):
        return
    told: set[ast.Call | str] = set()
    for spot in hot_nodes(file, ast.Subscript):
        assert isinstance(spot.expression, ast.Subscript)
        for index in _indices(spot.expression.slice):
            found = _of(file, spot, spot.expression.value, index)
            made = None if found is None else found.fresh.call if found.fresh is not None else _shared(found)
            if found is not None and (made is None or made not in told):
                told.update([made] if made is not None else [])
                yield found._replace(of=file.span(spot.expression)[0])


def _shared(index: HostIndex) -> str | None:
    """What tells two uses of one index that is told once: an array's name, an attribute's."""
    node = index.spot.expression
    return None if isinstance(node, ast.List) else f"{index.spot.function} {ast.unparse(node)}"


def _indices(node: ast.expr) -> Iterator[ast.expr]:
    """What may be a tensor with dimensions among the indices: one number on the host (`order[0]`) needs no copy."""
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        several = isinstance(part, ast.Subscript) and isinstance(part.slice, ast.Slice | ast.Tuple)
        if several or isinstance(part, ast.Name | ast.Attribute | ast.Call | ast.Compare | ast.List):
            yield part


def _of(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr) -> HostIndex | None:
    device = f"{ast.unparse(base)}.device"
    fresh = None
    if isinstance(index, ast.List):
        if not _steady(file, spot, index):
            return None
    else:
        fresh = just_made(file.project.values, index, spot.frame, device, Confidence.LIKELY)
        if fresh is None:
            return _kept(file, spot, base, index, device)
    value = on_device(file, spot, base)
    return HostIndex(spot.at(index), value, device, fresh) if value is not None and value.kind == "tensor" else None


def _kept(file: SourceFile, spot: Spot, base: ast.expr, index: ast.expr, device: str) -> HostIndex | None:
    """An index from before: an attribute that stayed on the host, an array that picks from several tensors."""
    values, source = file.project.values, None
    held = left_behind(values, index, spot.frame) if own_attribute(index) is not None else None
    if held is not None and held.in_module and _is_on_host(file.value(index, spot)):
        source = f"`self.{held.name}` stayed in host memory"
    elif isinstance(index, ast.Name) and _picks_rows(file, spot, index):
        source = f"the array `{index.id}` is host memory"
    if source is None:
        return None
    value = on_device(file, spot, base)
    if value is None or value.kind != "tensor" or (held is None and value.device != DEVICE):
        return None
    return HostIndex(spot.at(index), value, device, None, source, held if source.startswith("`self.") else None)


def _is_on_host(value: Value) -> bool:
    return value.kind == "tensor" and value.device == HOST


def _picks_rows(file: SourceFile, spot: Spot, index: ast.Name) -> bool:
    """Whether an index is an array of several numbers that picks from more than one thing: each use copies it."""
    body = file.project.body(file.path)
    bound = (body.reaching(spot.function, index.id, body.at(index)) or []) if body is not None else []
    if not bound or not all(d.how == "assign" and d.value is not None and _is_several(d.value) for d in bound):
        return False
    if file.value(index, spot).kind != "array":
        return False
    parents = file.enclosing(spot.function).parents
    uses = (n for n in parents if isinstance(n, ast.Subscript) and isinstance(n.slice, ast.Name))
    return sum(isinstance(n.slice, ast.Name) and n.slice.id == index.id for n in uses) > 1


def _is_several(node: ast.expr) -> bool:
    """`order[start:end]`, `np.random.permutation(n)`: more than one number."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Slice)
    return isinstance(node, ast.Call) and last_part(chain(node.func)) in ("permutation", "arange")


def _steady(file: SourceFile, spot: Spot, index: ast.List) -> bool:
    """Whether a list holds one number, for which there is a slice, or numbers that no step changes."""
    values = file.project.values
    if len(index.elts) == 1 and is_host_number(values, index.elts[0], spot.frame):
        return True
    return bool(index.elts) and constancy(values, index, spot.frame) is not None
