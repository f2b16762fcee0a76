"""Copies between host and device, with what a card's copy does about types, layout and waiting (ATen's Copy.cu)."""

from __future__ import annotations

import torch

from torchperf_lint.runtime.simulated.memory import as_host, is_pinned, on_device
from torchperf_lint.runtime.simulated.reports import REPORTS


def copy_from(source: torch.Tensor, target: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    """aten::_copy_from: `target.copy_(source)` where one of them at least is on the device."""
    there, here = on_device(target), on_device(source)
    if target.numel() and there != here:
        report(source, target, non_blocking)
    host_target = as_host(target) if there else target
    host_target.copy_(as_host(source) if here else source)
    return target


def copy_from_and_resize(source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """aten::_copy_from_and_resize."""
    target.resize_(source.shape)
    return copy_from(source, target)


def report(source: torch.Tensor, target: torch.Tensor, non_blocking: bool) -> None:
    """Say what the copy is: its direction, its bytes, whether the host's side of it is pinned, whether it blocks.

    Types are converted on the device when the copy does not block, on the host when it does; a layout that has to
    be made contiguous first passes through a temporary in pageable memory.
    """
    to_device = on_device(target)
    direct = source.dtype == target.dtype and _same_layout(source, target)
    host_side = source if to_device else target
    pinned = is_pinned(host_side) and (direct or _kept(source, target, to_device, non_blocking))
    converted_first = source.dtype if to_device == non_blocking else target.dtype
    nbytes = target.numel() * converted_first.itemsize
    REPORTS.copy("h2d" if to_device else "d2h", nbytes, pinned=pinned, blocking=not non_blocking)


def _kept(source: torch.Tensor, target: torch.Tensor, to_device: bool, non_blocking: bool) -> bool:
    """No temporary stands between the host's tensor and the bus, although types or layouts differ."""
    if not non_blocking:
        return False
    if to_device:
        return bool(source.is_contiguous() and source.shape == target.shape)
    return bool(target.is_contiguous())


def _same_layout(source: torch.Tensor, target: torch.Tensor) -> bool:
    if source.shape != target.shape:
        return False
    if source.is_contiguous() and target.is_contiguous():
        return True
    dense = torch.ops.aten.is_non_overlapping_and_dense.default
    return source.stride() == target.stride() and bool(dense(source))
