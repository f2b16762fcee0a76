"""Names of old: `torch.cuda.FloatTensor` and its kin, and what DataParallel asks of `torch._C`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn.parallel import _functions as parallel_functions

from torchperf_lint.runtime.simulated.naming import DEFAULT
from torchperf_lint.runtime.simulated.patching import replace
from torchperf_lint.runtime.simulated.streams import Stream

_TYPES = {
    "FloatTensor": torch.float32,
    "DoubleTensor": torch.float64,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
    "LongTensor": torch.int64,
    "IntTensor": torch.int32,
    "ShortTensor": torch.int16,
    "CharTensor": torch.int8,
    "ByteTensor": torch.uint8,
    "BoolTensor": torch.bool,
}


class _TensorType(type):
    """A tensor is an instance of the type that says its dtype and its device."""

    dtype: torch.dtype

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, torch.Tensor) and instance.is_cuda and instance.dtype == cls.dtype

    def __call__(cls, *given: Any) -> torch.Tensor:  # noqa: ANN401
        return _made(given, cls.dtype)


def _made(given: tuple[Any, ...], dtype: torch.dtype) -> torch.Tensor:
    """A tensor of values, or of a size with whatever lies there, on the device."""
    if len(given) == 1 and _holds_values(given[0]):
        return torch.tensor(given[0], dtype=dtype, device="cuda")
    size = given[0] if len(given) == 1 and isinstance(given[0], torch.Size) else given or (0,)
    return torch.empty(size, dtype=dtype, device="cuda")


def _holds_values(given: object) -> bool:
    """Whether it is what a tensor is made of: a tensor, a list, an array of numpy; no size."""
    if isinstance(given, torch.Size):
        return False
    return isinstance(given, torch.Tensor | Sequence) or hasattr(given, "__array__")


def patch_legacy() -> None:
    """Define the tensor types and the collectives of DataParallel."""
    cuda: Any = torch.cuda
    for name, dtype in _TYPES.items():
        setattr(cuda, name, _TensorType(name, (), {"dtype": dtype, "__module__": "torch.cuda"}))
    replace(torch, "set_default_tensor_type", _default_type(torch.set_default_tensor_type))
    parts: Any = torch._C
    parts._scatter = _scatter
    parts._gather = _gather
    parts._broadcast_coalesced = _broadcast_coalesced
    replace(parallel_functions, "_get_stream", _background_stream)


def _default_type(original: Any) -> Any:  # noqa: ANN401
    make: Any = torch.Tensor.__new__

    def made(*given: Any, **named: Any) -> Any:  # noqa: ANN401
        """`torch.Tensor(...)` makes what is the default, of which `set_default_device` knows nothing.

        It takes whatever comes: Dynamo, imported by the first optimizer, holds other signatures against its own.
        """
        cls, *rest = given
        given = tuple(rest)
        aliases = bool(given) and isinstance(given[0], torch.Tensor)
        if cls is not torch.Tensor or named or aliases:
            return make(cls, *given, **named)
        return _made(given, torch.get_default_dtype())

    def function(kind: Any) -> None:  # noqa: ANN401
        if isinstance(kind, str) and kind.startswith("torch.cuda."):
            kind = getattr(torch.cuda, kind.rpartition(".")[2])
        if isinstance(kind, _TensorType):
            torch.set_default_dtype(kind.dtype)
            torch.set_default_device("cuda")  # for functions of torch that were taken by name before ours came
            DEFAULT.device = "cuda"
            torch.Tensor.__new__ = made
            return
        if torch.Tensor.__new__ is made:
            torch.set_default_device(None)
            DEFAULT.device = None
            torch.Tensor.__new__ = make
        original(kind)

    return function


def _scatter(
    tensor: torch.Tensor, devices: Sequence[int], sizes: Sequence[int] | None, dim: int, streams: object = None
) -> tuple[torch.Tensor, ...]:
    chunks = tensor.split(list(sizes), dim) if sizes else tensor.chunk(len(devices), dim)
    return tuple(chunk.to(f"cuda:{index}", non_blocking=True) for chunk, index in zip(chunks, devices, strict=False))


def _background_stream(device: torch.device) -> Stream | None:
    """Where a batch of the host is copied. The device may be the spare backend: `torch.device(0)` names that."""
    return None if device.type == "cpu" else Stream(device.index)


def _gather(tensors: Sequence[torch.Tensor], dim: int, destination: int | None) -> torch.Tensor:
    device = "cpu" if destination == -1 else f"cuda:{destination or 0}"
    return torch.cat([tensor.to(device, non_blocking=True) for tensor in tensors], dim)


def _broadcast_coalesced(
    tensors: Sequence[torch.Tensor], devices: Sequence[int], size: int
) -> list[list[torch.Tensor]]:
    return [[tensor.to(f"cuda:{index}", non_blocking=True) for tensor in tensors] for index in devices]
