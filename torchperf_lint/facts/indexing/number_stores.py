"""Numbers put into the places that an index on the device picks: `labels[pos_inds] = 0`.

torch makes a tensor without dimensions of the number, in host memory, and copies that to the device from pageable
memory. A mask needs none, as it is filled through, and neither does a slice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants.configured import CONFIGURED, LITERAL
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, spot_at
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.indexing.purposes import FILLED
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import INDICES, selections
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.integer_indices import IntegerIndex, integer_index
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence

_STORES = ("] = ",)


class NumberStore(NamedTuple):
    """A number of the host that is copied into the places that an index picks."""

    spot: Spot
    """What is written to: `labels[pos_inds]`."""
    base: Value
    instead: str
    """The call that fills the number in, without a copy."""


def number_stores(file: SourceFile) -> Iterator[NumberStore]:
    """The hot statements that put a number of the host where an index on the device says."""
    if not hot_functions(file) or not file.mentions(_STORES) or file.project.body(file.path) is None:
        return
    for function in hot_functions(file):
        for node in file.enclosing(function).of_kinds((ast.Assign,)):
            target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
            spot = spot_at(file, node, function) if isinstance(target, ast.Subscript) else None
            if spot is None or spot.hot.kind == "data":
                continue
            assert isinstance(node, ast.Assign)
            assert isinstance(target, ast.Subscript)
            found = _store(file, spot, target, node.value)
            if found is not None:
                yield found


def _store(file: SourceFile, spot: Spot, target: ast.Subscript, number: ast.expr) -> NumberStore | None:
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    if isinstance(target.value, ast.Call) or all(isinstance(part, ast.Slice | ast.Constant) for part in parts):
        return None
    if not _is_number(file, spot, number):
        return None
    indices = _indices(file, spot, parts)
    if not indices:
        return None
    base = on_device(file, spot, target.value)
    if base is None or base.kind != "tensor" or base.confidence is Confidence.POSSIBLE:
        return None
    if any(found.origin in file.once(_filling_searches) for found in indices.values()):
        return None  # told where the places are searched: the mask itself fills
    weakest = max((found.confidence for found in indices.values()), key=lambda confidence: confidence.rank)
    return NumberStore(spot.at(target), base.weaker(weakest), _instead(target, parts, indices, number))


def _is_number(file: SourceFile, spot: Spot, node: ast.expr) -> bool:
    values = file.project.values
    if is_host_number(values, node, spot.frame):
        return True
    plain = values.of(node, spot.frame).kind in ("plain", "unknown")
    one = isinstance(node, ast.Attribute | ast.UnaryOp | ast.BinOp | ast.Name)
    return plain and one and constancy(values, node, spot.frame) in (LITERAL, CONFIGURED)


def _indices(file: SourceFile, spot: Spot, parts: list[ast.expr]) -> dict[int, IntegerIndex]:
    """The tensors of places in an index, by position; none where one part may be anything else."""
    values, found = file.project.values, dict[int, IntegerIndex]()
    for position, part in enumerate(parts):
        if isinstance(part, ast.Slice | ast.Constant) or is_host_number(values, part, spot.frame):
            continue
        index = None if is_mask(values, part, spot.frame) else integer_index(values, part, spot.frame)
        value = file.value(part, spot)
        if index is None or value.kind in ("array", "sequence") or (value.kind == "tensor" and value.device == HOST):
            return {}
        found[position] = index
    return found


def _filling_searches(file: SourceFile) -> frozenset[ast.expr]:
    """The searches for places, `mask.nonzero()`, of which the places only fill."""
    return frozenset(
        one.spot.expression
        for one in selections(file)
        if one.form == INDICES and isinstance(one.spot.expression, ast.expr) and purpose(one) == FILLED
    )


def _instead(target: ast.Subscript, parts: list[ast.expr], indices: dict[int, IntegerIndex], number: ast.expr) -> str:
    base, value = ast.unparse(target.value), ast.unparse(number)
    if len(indices) > 1:
        masked = f"through the mask, `{base}[mask] = {value}`, or " if _are_of_one_search(indices) else ""
        made = f"{ast.unparse(target)} = {base}.new_full((), {value})"
        return f"{masked}store a tensor that is made on the device: `{made}`"
    position, index = next(iter(indices.items()))
    first = next((at for at, part in enumerate(parts) if at == position or _is_whole(part)), position)
    row = f"[{', '.join(map(ast.unparse, parts[:first]))}]" if first else ""
    where = ast.unparse(parts[position])
    if not all(_is_whole(part) for part in (*parts[first:position], *parts[position + 1 :])):
        return f"fill a view of it, `.index_fill_(dim, {where}, {value})`"
    dim = position - first
    if any(isinstance(part, ast.Constant) for part in parts[first:position]):  # behind `...` it is counted from the end
        dim = position - len(parts)
    vector = "" if index.flat else ", an index with one dimension"
    return f"`{base}{row}.index_fill_({dim}, {where}, {value})`{vector}"


def _are_of_one_search(indices: dict[int, IntegerIndex]) -> bool:
    """`rows, columns = torch.where(mask)`: together they are where the mask holds."""
    first, *others = [index.origin for index in indices.values()]
    searched = isinstance(first, ast.Call) and last_part(chain(first.func)) in ("where", "nonzero", "argwhere")
    return searched and all(other is first for other in others)


def _is_whole(part: ast.expr) -> bool:
    """`:` or `...`."""
    if isinstance(part, ast.Slice):
        return part.lower is None and part.upper is None and part.step is None
    return isinstance(part, ast.Constant) and part.value is Ellipsis
