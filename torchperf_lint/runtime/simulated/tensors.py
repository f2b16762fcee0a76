"""The face that tensors and storages show to Python."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated import memory
from torchperf_lint.runtime.simulated.naming import BACKEND, as_cuda, internal, shown
from torchperf_lint.runtime.simulated.patching import overridable, shadow_property, translate

_METHODS = ("to", "new_empty", "new_zeros", "new_ones", "new_full", "new_tensor", "new_empty_strided", "new")


def patch_tensors() -> None:
    """Let tensors of the device say that they are CUDA tensors, and understand what is asked of such."""
    _patch_properties()
    for name in _METHODS:
        translate(torch.Tensor, name)
    for name, act in _ACTS.items():
        original = getattr(torch.Tensor, name)
        setattr(torch.Tensor, name, overridable(original, act(original)))


def _patch_properties() -> None:
    device = torch._C.TensorBase.device
    is_cuda = torch._C.TensorBase.is_cuda
    shadow_property(torch.Tensor, "device", lambda self: shown(device.__get__(self)))
    shadow_property(torch.Tensor, "is_cuda", lambda self: is_cuda.__get__(self) or memory.on_device(self))


def _cuda(original: Any) -> Any:  # noqa: ANN401
    def act(
        self: torch.Tensor,
        device: Any = None,  # noqa: ANN401
        non_blocking: bool = False,
        memory_format: torch.memory_format = torch.preserve_format,
    ) -> torch.Tensor:
        if isinstance(device, int):
            device = f"cuda:{device}"
        where = internal(torch.device("cuda") if device is None else device)
        if torch.device(where).type != BACKEND:
            raise RuntimeError(f"Invalid device, must be cuda device but got {where}")
        return self.to(where, non_blocking=non_blocking, memory_format=memory_format)

    return act


def _pin_memory(original: Any) -> Any:  # noqa: ANN401
    def act(self: torch.Tensor, device: Any = None) -> torch.Tensor:  # noqa: ANN401
        if self.device.type != "cpu":
            raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
        if memory.is_pinned(self):
            return self
        return memory.pinned_empty(self).copy_(self)

    return act


def _is_pinned(original: Any) -> Any:  # noqa: ANN401
    return lambda self, device=None: memory.is_pinned(self)


def _record_stream(original: Any) -> Any:  # noqa: ANN401
    return lambda self, stream: None


def _type(original: Any) -> Any:  # noqa: ANN401
    def act(self: torch.Tensor, dtype: Any = None, non_blocking: bool = False, **kwargs: Any) -> Any:  # noqa: ANN401
        if dtype is None:
            name: str = original(self)
            return name.replace(f"torch.{BACKEND}.", "torch.cuda.")
        kind = dtype
        if isinstance(dtype, str) and dtype.startswith("torch.cuda."):
            kind = getattr(torch.cuda, dtype.rpartition(".")[2], dtype)
        if getattr(kind, "__module__", "") != "torch.cuda":
            return original(self, dtype, non_blocking, **kwargs)
        return self.to(device="cuda", dtype=kind.dtype, non_blocking=non_blocking)

    return act


def _numpy(original: Any) -> Any:  # noqa: ANN401
    def act(self: torch.Tensor, *, force: bool = False) -> Any:  # noqa: ANN401
        try:
            return original(self, force=force)
        except TypeError as error:
            raise as_cuda(error) from None

    return act


def _setitem(original: Any) -> Any:  # noqa: ANN401
    """A number assigned to a part of a CUDA tensor stays on the host until a kernel needs it."""

    def act(self: torch.Tensor, index: Any, value: Any) -> None:  # noqa: ANN401
        if memory.on_device(self) and isinstance(value, int | float | complex):
            value = torch.tensor(value, dtype=self.dtype, device="cpu")
        try:
            original(self, index, value)
        except (RuntimeError, TypeError, IndexError) as error:
            if BACKEND not in str(error):
                raise
            raise as_cuda(error) from None

    return act


_ACTS = {
    "cuda": _cuda,
    "pin_memory": _pin_memory,
    "is_pinned": _is_pinned,
    "record_stream": _record_stream,
    "type": _type,
    "numpy": _numpy,
    "__setitem__": _setitem,
}
