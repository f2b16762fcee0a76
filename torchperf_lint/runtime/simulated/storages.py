"""Storages of the device: made, moved, saved and loaded as CUDA storages are."""

from __future__ import annotations

from typing import Any

import torch

from torchperf_lint.runtime.simulated.naming import BACKEND, internal, shown
from torchperf_lint.runtime.simulated.patching import shadow_property


def patch_storages() -> None:
    """Let storages say that they are CUDA storages, and be made on the device."""
    storage = torch.UntypedStorage
    device = torch._C.StorageBase.device
    shadow_property(storage, "device", lambda self: shown(device.__get__(self)))
    shadow_property(storage, "is_cuda", lambda self: self.device.type == "cuda")
    storage.__new__ = staticmethod(_make(torch._C.StorageBase.__new__))
    storage.is_pinned = _never_pinned


def _never_pinned(self: torch.UntypedStorage, device: Any = None) -> bool:  # noqa: ANN401
    from torchperf_lint.runtime.simulated import memory

    return self.device.type == "cpu" and memory.is_pinned(torch.empty(0, dtype=torch.uint8, device="cpu").set_(self))


def _make(original: Any) -> Any:  # noqa: ANN401
    def new(cls: type, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        where = internal(kwargs.get("device"))
        if where is None or torch.device(where).type != BACKEND:
            return original(cls, *args, **kwargs)
        size = args[0] if args else kwargs.get("size", 0)
        return torch.empty(size, dtype=torch.uint8, device=where).untyped_storage()

    return new
