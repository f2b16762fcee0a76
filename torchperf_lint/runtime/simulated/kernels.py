"""The device's kernels: memory, views and copies are written here, everything else runs on the host."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchperf_lint.runtime.simulated import lacking, transfers
from torchperf_lint.runtime.simulated.host import run_on_host
from torchperf_lint.runtime.simulated.memory import adopt, allocate, index_of
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


def _resize(
    tensor: torch.Tensor, size: Sequence[int], *, memory_format: torch.memory_format | None = None
) -> torch.Tensor:
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
    if name in RULES:
        report_waits(name, args, kwargs)
    return run_on_host(op, args, kwargs)


def _on_host(op: Any) -> Callable[..., Any]:  # noqa: ANN401
    def kernel(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return _fallback(op, *args, **kwargs)

    return kernel


def _no_layout(op: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
    what = f"{op.name().split('::')[1]}: sparse and quantised tensors are not simulated"
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
    for layout in ("SparsePrivateUse1", "QuantizedPrivateUse1"):
        everything.fallback(_no_layout, layout)
    aten.impl("empty.memory_format", _empty, _KEY)
    aten.impl("empty_strided", _empty_strided, _KEY)
    aten.impl("resize_", _resize, _KEY)
    aten.impl("_copy_from", transfers.copy_from, _KEY)
    aten.impl("_copy_from_and_resize", transfers.copy_from_and_resize, _KEY)
    for name in _VIEWS:
        if (op := overload(name)) is not None:
            aten.impl(name, _view_kernel(op), _KEY)
    for name in (*_whole_on_host(), *lacking.BELOW_COMPOSITES):
        if (op := overload(name)) is not None:
            aten.impl(name, _on_host(op), _KEY)
    for name, kernel in lacking.KERNELS.items():
        if overload(name) is not None:
            aten.impl(name, kernel, _KEY)


def _whole_on_host() -> list[str]:
    """Operators with a rule that would otherwise be split before they reach the fallback (index.Tensor and such)."""
    return [name.removeprefix("aten::") for name in RULES]
