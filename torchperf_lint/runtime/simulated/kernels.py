"""The device's kernels: memory, views and copies are written here, everything else runs on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchperf_lint.runtime.simulated import indexing, lacking, sparse, transfers
from torchperf_lint.runtime.simulated.host import run_on_host
from torchperf_lint.runtime.simulated.memory import adopt, allocate, index_of, on_device, pinned_empty
from torchperf_lint.runtime.simulated.origins import ORIGINS
from torchperf_lint.runtime.simulated.reports import REPORTS
from torchperf_lint.runtime.simulated.syncs import RULES, report_waits

_KEY = "PrivateUse1"
_HOST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_VIEWS = (
    "as_strided",
    "view",
    "_reshape_alias",
    "unfold",
    "set_.source_Storage",
    "set_.source_Storage_storage_offset",
    "set_.source_Tensor",
)
"""Operators whose host kernel only looks at sizes and the storage, so that it serves any device's tensor."""
_SHARED = ("_embedding_bag_backward", "_to_sparse", "_to_sparse.sparse_dim")
"""Operators whose host kernel is CUDA's, too, and calls others: these wait, and make sparse tensors."""


def _empty(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
    memory_format: torch.memory_format | None = None,
) -> torch.Tensor:
    made = allocate(size, None, dtype or torch.get_default_dtype(), index_of(device))
    if memory_format in (None, torch.contiguous_format, torch.preserve_format):
        return made
    like = torch.empty(size, device="meta", memory_format=memory_format)
    adopt(made, made, size, like.stride(), 0)
    return made


def _empty_strided(
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    return allocate(size, stride, dtype or torch.get_default_dtype(), index_of(device))


def _zeros(
    size: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    layout: torch.layout | None = None,
    device: torch.device | None = None,
    pin_memory: bool | None = None,
) -> torch.Tensor:
    """Real zeros where torch would have a tensor without memory."""
    return allocate(size, None, dtype or torch.get_default_dtype(), index_of(device)).zero_()


def _to_copy(tensor: torch.Tensor, **wanted: Any) -> torch.Tensor:  # noqa: ANN401
    """As torch's own, but what goes to the host without waiting goes to pinned memory, as from a card."""
    ORIGINS.called("aten::_to_copy")
    device = wanted.get("device")
    if not wanted.get("non_blocking") or device is None or device.type != "cpu" or not on_device(tensor):
        made: torch.Tensor = torch.ops.aten._to_copy.default.redispatch(_HOST_KEYS, tensor, **wanted)
        return made
    like = torch.empty_like(tensor, device="meta", dtype=wanted.get("dtype"), memory_format=wanted.get("memory_format"))
    return pinned_empty(like).copy_(tensor, non_blocking=True)


def _resize(
    tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None
) -> torch.Tensor:
    if list(tensor.shape) == list(size) and memory_format in (None, torch.preserve_format):
        return tensor
    stride = torch.empty(size, device="meta", memory_format=memory_format or torch.contiguous_format).stride()
    needed = (tensor.storage_offset() + math.prod(size)) * tensor.element_size()
    storage = tensor
    if needed > tensor.untyped_storage().nbytes():
        whole = tensor.untyped_storage().nbytes() // tensor.element_size()
        storage = allocate([tensor.storage_offset() + math.prod(size)], None, tensor.dtype, tensor.get_device())
        if whole:
            old = allocate([0], None, tensor.dtype, tensor.get_device())
            adopt(old, tensor, [whole], [1], 0)
            transfers.copy_from(old, torch.ops.aten.as_strided.default.redispatch(_HOST_KEYS, storage, [whole], [1], 0))
    adopt(tensor, storage, size, stride, tensor.storage_offset())
    return tensor


def _view_kernel(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return op.redispatch(_HOST_KEYS, *args, **kwargs)

    return kernel


def _fallback(op: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    name = op.name()
    ORIGINS.called(name)
    if name in indexing.RULES and not on_device(args[0]):
        return indexing.of_the_host(op, args, kwargs)
    if name in RULES:
        report_waits(name, args, kwargs)
    return run_on_host(op, args, kwargs)


def _on_host(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return _fallback(op, *args, **kwargs)

    return kernel


def _sparse(op: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    kernel, rule = sparse.kernel_of(op, args), sparse.RULES.get(op.name())
    if kernel is not None:
        return kernel(*args, **kwargs)
    if rule is None:
        REPORTS.unsupported(sparse.UNKNOWN.format(op.name().split("::")[1]))
    else:
        rule(*args, **kwargs)
    return run_on_host(op, args, kwargs)


def _no_layout(op: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    what = f"{op.name().split('::')[1]}: quantised tensors are not simulated"
    REPORTS.unsupported(what)
    raise RuntimeError(what)


def overload(name: str) -> Any:  # noqa: ANN401
    """The OpOverload of `aten::` called "name" or "name.overload"; None where this torch has no such operator."""
    packet, _, which = name.partition(".")
    try:
        return getattr(getattr(torch.ops.aten, packet), which or "default")
    except AttributeError:
        return None


_kept: list[torch.library.Library] = []
"""Registrations end when their library object does."""


def library(namespace: str) -> torch.library.Library:
    """A library to register kernels in, kept for the life of the process."""
    made = torch.library.Library(namespace, "IMPL")
    _kept.append(made)
    return made


def register_kernels() -> None:
    """Give the spare backend its kernels."""
    everything, aten = library("_"), library("aten")
    everything.fallback(_fallback, _KEY)
    everything.fallback(_no_layout, "QuantizedPrivateUse1")
    everything.fallback(_sparse, "SparsePrivateUse1")
    aten.impl("empty.memory_format", _empty, _KEY)
    aten.impl("empty_strided", _empty_strided, _KEY)
    aten.impl("_to_copy", _to_copy, _KEY)
    aten.impl("_efficientzerotensor", _zeros, _KEY)
    aten.impl("resize_", _resize, _KEY)
    aten.impl("_copy_from", transfers.copy_from, _KEY)
    for lazy in ("Conjugate", "Negative"):
        aten.impl("_copy_from", torch.library.fallthrough_kernel, lazy)
    aten.impl("_copy_from_and_resize", transfers.copy_from_and_resize, _KEY)
    _catch_strays(aten)
    for name in sparse.SHARED:
        if (op := overload(name)) is not None:
            aten.impl(name, sparse.shared(op), "SparsePrivateUse1")
    for name in (*_VIEWS, *_SHARED):
        if (op := overload(name)) is not None:
            aten.impl(name, _view_kernel(op), _KEY)
    for name in _whole_on_host():
        if (op := overload(name)) is not None:
            aten.impl(name, _on_host(op), _KEY)
    for name, kernel in lacking.KERNELS.items():
        if overload(name) is not None:
            aten.impl(name, kernel, _KEY)


def _catch_strays(aten: torch.library.Library) -> None:
    """Functions that somebody took from torch before they were patched ask for CUDA memory; CUDA builds have it."""
    for name, kernel in (("empty.memory_format", _empty), ("empty_strided", _empty_strided)):
        if not torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CUDA"):
            aten.impl(name, kernel, "CUDA")


def _whole_on_host() -> list[str]:
    """Operators that torch would split into sizes and an `out=` call for a backend without kernels of its own."""
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    names = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    split = {name for name in names if has(name, "CompositeExplicitAutogradNonFunctional") and has(name, "CPU")}
    return sorted({name.removeprefix("aten::") for name in split | RULES.keys()} - {*_SHARED})
