"""Indices in host memory that the device could hold, or make, by itself: of constants, or of nothing but factories.

    order = torch.tensor([2, 1, 0])                keep = torch.rand(len(x)) < p
    x[:, order]                                    x[torch.nonzero(keep).squeeze(1)]

Unlike numbers that were born on the host, which have to cross, these are copied for nothing: one use is enough.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.gathered import is_empty_list
from torchperf_lint.facts.bindings.put_into import written_into
from torchperf_lint.facts.constants.configured import CONFIGURED, GIVEN, LITERAL, SHAPE
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.module_lists import is_module_list
from torchperf_lint.facts.copies.computed import Source as Origin
from torchperf_lint.facts.copies.computed import computed_on_host
from torchperf_lint.facts.copies.fresh import Fresh, is_random
from torchperf_lint.facts.copies.host_data import constant_upload, made_on_host
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.host_index_sources import Source, counts_turns
from torchperf_lint.facts.indexing.index_uses import name_below
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence

_KEPT = "keep it on the device: a buffer of the module, or one for each device, under `functools.cache`"
_STEADY = frozenset({LITERAL, CONFIGURED, SHAPE, GIVEN})
_DATA = api.HOST_DATA | api.LEGACY_TYPES


def steady_index(spot: Spot, index: ast.expr, device: str) -> Source | None:
    """Why an index lies in host memory though its numbers could be on the device; None where that is not known."""
    if is_module_list(spot.file.project.values, index, spot.frame):
        return _kept(index)
    if not isinstance(index, ast.Name | ast.Call | ast.Subscript | ast.Compare | ast.BinOp):
        return None
    value = spot.file.value(index, spot)
    if value.kind == "sequence":
        return _listed(spot, index)
    if value.kind == "array":
        one = isinstance(index, ast.Name) and counts_turns(spot, index)  # `for i in np.arange(n)`: a number each
        return None if one else _array(spot, index)
    if value.kind != "tensor" or value.device != HOST or value.confidence is Confidence.POSSIBLE:
        return None
    return _of_module(spot, index) or _computed(spot, index, value, device)


def _as_listed(spot: Spot, index: ast.expr) -> ast.expr:
    """What `orders[i]` is, of `orders = [torch.randperm(n) for _ in x]`; other indices as they are."""
    body = spot.file.project.body(spot.file.path)
    if body is None or not isinstance(index, ast.Subscript) or not isinstance(index.value, ast.Name):
        return index
    listed = body.assigned_once(spot.function, index.value.id, body.at(index.value))
    return listed.elt if isinstance(listed, ast.ListComp) and isinstance(index.slice, ast.Name) else index


def _listed(spot: Spot, index: ast.expr) -> Source | None:
    """A name for a list of numbers that no step changes; a tuple of them may be several indices."""
    values, body = spot.file.project.values, spot.file.project.body(spot.file.path)
    if not isinstance(index, ast.Name) or body is None:
        return None
    bound = body.reaching(spot.function, index.id, body.at(index))
    bound = bound if bound else body.reaching(0, index.id, END_OF_FILE)
    made = [d.value for d in bound or () if d.how == "assign"]
    if not made or len(made) != len(bound or ()) or not all(map(_is_list, made)):
        return None
    if constancy(values, index, spot.frame) is None:
        return None
    return _kept(index)


def _is_list(made: ast.expr | None) -> bool:
    """A list that is written out, or begins empty: `[2, 1]`, `list()`."""
    return isinstance(made, ast.List | ast.ListComp) or (isinstance(made, ast.Call) and is_empty_list(made))


def _kept(index: ast.expr) -> Source:
    return Source(f"the list `{ast.unparse(index)}` becomes a tensor in host memory", _KEPT, evident=False)


def _array(spot: Spot, index: ast.expr) -> Source | None:
    """What numpy makes of shapes and settings: `np.triu_indices(len(x), 1)`."""
    if constancy(spot.file.project.values, index, spot.frame) is None:
        return None
    return Source(
        f"the array `{ast.unparse(index)}` is host memory",
        "make it on the device, by the function of torch's that does the same, or keep it there",
        evident=False,
    )


def _of_module(spot: Spot, index: ast.expr) -> Source | None:
    """What was made once, when the file was imported."""
    name = name_below(index)
    made = made_on_host(spot.file.project.values, name, spot.frame) if name is not None else None
    if made is None or name is None or made.function != 0 or spot.function == 0:
        return None
    return Source(f"`{name.id}` stayed in host memory (line {made.call.lineno})", _KEPT, evident=False)


def _computed(spot: Spot, written: ast.expr, value: Value, device: str) -> Source | None:
    """What torch made, or computed, on the host in this code."""
    index = _as_listed(spot, written)
    values, body = spot.file.project.values, spot.file.project.body(spot.file.path)
    name = name_below(index)
    cut = isinstance(index, ast.Subscript) and name is not None and body is not None
    if cut and body is not None and name is not None and any(True for _ in written_into(body, spot.function, name.id)):
        return None  # `rows[: len(seen)]` takes as many as the host has found
    there = spot.frame._replace(at=body.at(index)) if body is not None and index is not written else spot.frame
    found = computed_on_host(values, index, there) if not _draws_of_generator(spot, index) else None
    if found is None or found.held or any(_is_placed(origin) for origin in found.made):
        return None
    data = [origin for origin in found.made if origin.factory in _DATA]
    first = (data or found.made)[0]
    if not data:
        because = f"{value.because.partition(': ')[0] or 'computed on the host'}"
        told = tensor(HOST, because, Confidence.LIKELY)
        fresh = Fresh(first.factory, device, is_random(first.factory), told, first.call, first.frame.path)
        return Source(f"`torch.{first.factory}(...)` fills host memory", "", fresh, evident=False)
    uploads = [constant_upload(values, origin.call, origin.frame, device) for origin in data]
    if any(upload is None or upload.kind not in _STEADY for upload in uploads):
        return None
    return Source(
        f"`torch.{first.factory}` (line {first.call.lineno}) makes the same index in host memory", _KEPT, evident=False
    )


def _draws_of_generator(spot: Spot, index: ast.expr) -> bool:
    """`torch.multinomial(weights, n, generator=g)`: it draws where the generator is."""
    name, body = name_below(index), spot.file.project.body(spot.file.path)
    bound = body.reaching(spot.function, name.id, body.at(name)) if body is not None and name is not None else ()
    made = [index, *(d.value for d in bound or () if d.value is not None)]
    return any(isinstance(part, ast.keyword) and part.arg == "generator" for m in made for part in ast.walk(m))


def _is_placed(origin: Origin) -> bool:
    """`device="cpu"` is written on purpose, and a generator draws where it is."""
    return any(k.arg in ("device", "generator", None) for k in origin.call.keywords)
