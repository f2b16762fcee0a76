"""Tensors that index tensors: what a card's build copies and waits for, and what it refuses.

Read in TensorAdvancedIndexing.cpp and IndexingUtils.h of ATen/native.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from torchperf_lint.runtime.simulated.memory import on_device
from torchperf_lint.runtime.simulated.naming import apart, as_cuda
from torchperf_lint.runtime.simulated.reports import REPORTS

_MASKS = (torch.bool, torch.uint8)
_HOST_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def of_the_host(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:  # noqa: ANN401
    """A tensor of the host is indexed by the device's: torch refuses to read there, and fetches the index to write."""
    try:
        return op.redispatch(_HOST_KEYS, *args, **kwargs)
    except RuntimeError as error:
        raise as_cuda(error) from None


def _copies(indices: Sequence[torch.Tensor | None]) -> None:
    """What an index made of these tensors costs: a mask is counted on the device, a host's index is copied there."""
    for index in indices:
        if index is None:
            continue
        if on_device(index):
            if index.dtype in _MASKS:
                REPORTS.sync("mask-index")
        else:
            _host_index(index)


def _host_index(index: torch.Tensor) -> None:
    """The places that a mask sets are found on the host, in pinned memory from which nobody waits for the copy."""
    is_mask = index.dtype in _MASKS
    parts, rows = (index.dim(), int(index.count_nonzero())) if is_mask else (1, index.numel())
    size = 8 if is_mask else index.element_size()
    for _part in range(parts if rows else 0):
        REPORTS.copy("h2d", rows * size, pinned=is_mask, blocking=not is_mask)


def _index(self: torch.Tensor, indices: Sequence[torch.Tensor | None], **_: Any) -> None:  # noqa: ANN401
    _copies(indices)


def _index_put(
    self: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
    *_: Any,  # noqa: ANN401
    **__: Any,  # noqa: ANN401
) -> None:
    if not on_device(values):
        if not accumulate and values.numel() == 1 and _is_one_mask(indices):
            return
        if values.dim():
            raise RuntimeError(_elsewhere(self, accumulate))
        REPORTS.copy("h2d", values.element_size())
    _copies(indices)


def _is_one_mask(indices: Sequence[torch.Tensor | None]) -> bool:
    """Whether the device fills in what one mask of its own sets, with a number that stays on the host until then."""
    masks = [index for index in indices if index is not None]
    return len(masks) == 1 and masks[0].dtype in _MASKS and on_device(masks[0])


def _elsewhere(tensor: torch.Tensor, accumulate: bool) -> str:
    if accumulate:
        return f"expected device {tensor.device} but got device cpu for value tensor"
    return apart(str(tensor.device), "cpu")


RULES: dict[str, Callable[..., None]] = {
    "aten::index.Tensor": _index,
    "aten::index.Tensor_out": _index,
    "aten::_index_put_impl_": _index_put,
}
"""By the operator's full name, without ".default"; for a tensor of the device that is indexed."""
