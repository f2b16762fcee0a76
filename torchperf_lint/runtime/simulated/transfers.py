"""Copies between host and device, with what a card's copy does about types, layout and waiting (ATen's Copy.cu)."""

from __future__ import annotations

import torch

from torchperf_lint.runtime.simulated.memory import as_host, is_pinned, on_device
from torchperf_lint.runtime.simulated.reports import REPORTS
from torchperf_lint.runtime.staging import is_straight, keeps_the_host


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
    """Say what the copy is: its direction, its bytes, whether the host's side of it is pinned, whether it blocks."""
    to_device = on_device(target)
    pinned = is_pinned(source if to_device else target) and is_straight(
        source,
        target,
        to_device=to_device,
        blocking=not non_blocking,
        is_dense=torch.ops.aten.is_non_overlapping_and_dense.default,
    )
    converted_first = source.dtype if to_device == non_blocking else target.dtype
    nbytes = target.numel() * converted_first.itemsize
    blocking = keeps_the_host(asked_to_block=not non_blocking, to_device=to_device, pinned=pinned)
    REPORTS.copy("h2d" if to_device else "d2h", nbytes, pinned=pinned, blocking=blocking)

