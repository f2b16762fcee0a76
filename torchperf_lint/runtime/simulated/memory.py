"""The device's memory is host memory under another name: a tensor is relabelled, never copied, by way of DLPack."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence

import torch

from torchperf_lint.runtime.simulated.naming import BACKEND, SELECTED

_HOST, _SPARE = 1, 12
"""kDLCPU and kDLExtDev in dlpack.h; torch reads the latter as PrivateUse1."""


class _Head(ctypes.Structure):
    """The first fields of DLTensor, which stands first in DLManagedTensor (dlpack.h)."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32)]


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _relabel(tensor: torch.Tensor, kind: int, index: int) -> torch.Tensor:
    capsule = torch._C._to_dlpack(tensor)
    head = _Head.from_address(_pointer(capsule, b"dltensor"))
    head.device_type, head.device_id = kind, index
    result: torch.Tensor = torch._C._from_dlpack(capsule)
    return result


def _exotic(tensor: torch.Tensor, kind: int, index: int) -> torch.Tensor:
    """Types that DLPack does not know travel as integers of their size."""
    size = tensor.element_size()
    carrier = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[size]
    return _relabel(tensor.view(carrier), kind, index).view(tensor.dtype)


def _move(tensor: torch.Tensor, kind: int, index: int) -> torch.Tensor:
    try:
        return _relabel(tensor, kind, index)
    except (BufferError, RuntimeError):
        return _exotic(tensor, kind, index)


_device = torch._C.TensorBase.device.__get__
"""The device as C++ knows it, whatever Python is shown."""


def on_device(tensor: torch.Tensor) -> bool:
    """True for a tensor of the simulated device."""
    return bool(_device(tensor).type == BACKEND)


def as_host(tensor: torch.Tensor) -> torch.Tensor:
    """A host tensor over the memory of a device tensor, conjugated or negated lazily where that is."""
    host = _move(tensor, _HOST, 0)
    if tensor.is_conj():
        host = torch.conj(host)
    return torch._neg_view(host) if tensor.is_neg() else host


def as_device(tensor: torch.Tensor, index: int) -> torch.Tensor:
    """A device tensor over the memory of a host tensor, in a storage of its own."""
    return _move(tensor, _SPARE, index)


def allocate(size: Sequence[int], stride: Sequence[int] | None, dtype: torch.dtype, index: int) -> torch.Tensor:
    """A new device tensor, not initialised."""
    aten = torch.ops.aten
    if stride is None:
        return as_device(aten.empty.memory_format(size, dtype=dtype, device="cpu"), index)
    return as_device(aten.empty_strided.default(size, stride, dtype=dtype, device="cpu"), index)


_host_keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def adopt(tensor: torch.Tensor, source: torch.Tensor, size: Sequence[int], stride: Sequence[int], offset: int) -> None:
    """Make a device tensor look at the storage of `source` (another device tensor), in elements, as `set_` does."""
    operator = torch.ops.aten.set_.source_Storage_storage_offset
    operator.redispatch(_host_keys, tensor, source.untyped_storage(), offset, size, stride)


def index_of(device: torch.device | None) -> int:
    """Which of the simulated devices a C++ device is; the selected one where it does not say."""
    return SELECTED.index if device is None or device.index is None else device.index


class _Block(bytearray):
    """Host memory that counts as pinned; a subclass because a plain bytearray cannot be watched."""

    __slots__ = ("__weakref__",)


_pinned: set[int] = set()


def pinned_empty(like: torch.Tensor) -> torch.Tensor:
    """An uninitialised host tensor of the shape of `like` whose storage counts as pinned for as long as it lives."""
    dense = torch.empty_like(like, device="cpu")
    if not dense.numel():
        return dense
    block = _Block(dense.untyped_storage().nbytes())
    flat = torch.frombuffer(block, dtype=torch.uint8)
    _pinned.add(flat.data_ptr())
    weakref.finalize(block, _pinned.discard, flat.data_ptr()).atexit = False
    return torch.empty(0, dtype=like.dtype, device="cpu").set_(flat.untyped_storage(), 0, dense.size(), dense.stride())


def is_pinned(tensor: torch.Tensor) -> bool:
    """True for a host tensor, or a view of one, in pinned memory."""
    if not _pinned or tensor.layout != torch.strided or tensor.device.type != "cpu":
        return False
    return tensor.untyped_storage().data_ptr() in _pinned
