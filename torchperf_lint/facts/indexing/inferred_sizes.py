"""Calls whose result is as large as the largest index asks for: without a size they read that index from the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.source import Place, Site, SourceFile
from torchperf_lint.facts.files.spots import spot_at
from torchperf_lint.facts.indexing.largest_as_size import largest_as_size
from torchperf_lint.facts.syntax.literals import is_none
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence

_SCATTER = "scatter scatter_add scatter_sum scatter_mean scatter_max scatter_min scatter_mul".split()
_POOLS = "global_add_pool global_mean_pool global_max_pool".split()


class _Signature(NamedTuple):
    """How a function is told the size of its result. Positions are 0-based."""

    asked: int
    """The position of the tensor whose largest element says the size otherwise."""
    keyword: str
    position: int
    """Of the size."""
    known_by: tuple[tuple[str, int], ...] = ()
    """Other arguments that say it: a tensor for the result, the borders of the groups."""


_SIGNATURES: dict[str, _Signature] = {
    "torch.nn.functional.one_hot": _Signature(0, "num_classes", 1),
    **{f"torch_scatter.{name}": _Signature(1, "dim_size", 4, (("out", 3),)) for name in _SCATTER},
    **{f"torch_scatter.scatter.{name}": _Signature(1, "dim_size", 4, (("out", 3),)) for name in _SCATTER},
    "torch_geometric.utils.scatter": _Signature(1, "dim_size", 3),
    "torch_geometric.utils.softmax": _Signature(1, "num_nodes", 3, (("ptr", 2),)),
    "torch_geometric.utils.degree": _Signature(0, "num_nodes", 1),
    **{f"torch_geometric.nn.{name}": _Signature(1, "size", 2) for name in _POOLS},
    **{f"torch_geometric.nn.pool.{name}": _Signature(1, "size", 2) for name in _POOLS},
}
"""By the sources of torch_scatter 2.1 and torch_geometric 2.6, and the documentation of torch."""
_INDEX_NAMES = ("index", "batch", "input", "tensor")
NAMES = tuple(sorted({dotted.rpartition(".")[2] for dotted in _SIGNATURES}))


class Inferred(NamedTuple):
    """A hot call that infers the size of its result."""

    site: Site
    asked: ast.expr
    """The index whose largest element is read."""
    value: Value
    keyword: str
    """The argument that would say the size."""
    place: Place
    """What waits: the call, or what works out its size."""


def inferred_sizes(file: SourceFile) -> Iterator[Inferred]:
    """The hot calls of a file that read the largest element of a tensor on the device to know how large they are."""
    for site in file.hot_calls(*NAMES):
        signature = _SIGNATURES.get(file.denotes(site.call.func, site) or "")
        if signature is None or site.hot is None or site.hot.kind == "data":
            continue
        if _says_size(site.call, signature):
            yield from _read_before(file, site, signature)
            continue
        index = _index(site, signature)
        if index is None or is_none(index):
            continue
        seen = on_device(file, site, index) or _by_its_use(file, site, index)
        if seen is not None:
            yield Inferred(site, index, seen, signature.keyword, site)


def _read_before(file: SourceFile, site: Site, signature: _Signature) -> Iterator[Inferred]:
    """What a call is given as its size, where that is the largest element of a tensor: the same read, written out."""
    for size in _given(site.call, signature.keyword, signature.position):
        found = largest_as_size(file, site, size)
        if found is not None:
            before = spot_at(file, found.compared, site.function) if found.compared is not None else None
            yield Inferred(site, found.tensor, found.value, signature.keyword, before or site)


def _by_its_use(file: SourceFile, site: Site, index: ast.expr) -> Value | None:
    """A tensor, where nothing is known of what these functions take: they take nothing else."""
    if file.value(index, site).kind != "unknown" or not file.project.uses_accelerator or stays_on_host(file):
        return None
    because = f"`{ast.unparse(index)}` says which group an element belongs to (line {index.lineno})"
    return tensor(ANYWHERE, because, Confidence.LIKELY)


def _says_size(call: ast.Call, signature: _Signature) -> bool:
    """Whether a size is given, or may be: what is unpacked may hold it."""
    if any(isinstance(argument, ast.Starred) for argument in call.args) or any(k.arg is None for k in call.keywords):
        return True
    ways = ((signature.keyword, signature.position), *signature.known_by)
    return any(_is_given(call, *way) for way in ways)


def _is_given(call: ast.Call, keyword: str, position: int) -> bool:
    return any(not is_none(value) and ast.unparse(value) != "-1" for value in _given(call, keyword, position))


def _given(call: ast.Call, keyword: str, position: int) -> list[ast.expr]:
    return [k.value for k in call.keywords if k.arg == keyword] + call.args[position : position + 1]


def _index(site: Site, signature: _Signature) -> ast.expr | None:
    if len(site.call.args) > signature.asked:
        return site.call.args[signature.asked]
    return next((k.value for k in site.call.keywords if k.arg in _INDEX_NAMES), None)
