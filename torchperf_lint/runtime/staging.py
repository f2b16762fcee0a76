"""Whether a copy between host and device goes straight from or to the host's memory, and whether the host waits for it
(ATen's Copy.cu, and the driver).

Types are converted on the device when the copy does not block, on the host when it does; a layout that has to be made
contiguous first passes through a temporary. Temporaries of the host are pageable, whatever they stand in for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def keeps_the_host(*, asked_to_block: bool, to_device: bool, pinned: bool | None) -> bool:
    """Whether the host waits for a copy; `pinned`: what it goes straight from or to, None where that is not known.

    CUDA comes back from a copy to pageable memory when it is complete, whatever it was asked: behind a kernel of 10 ms
    such a copy took 10.1 ms on an H200 (fixtures/recorded/facts.json, `torch.zeros(4, 6).copy_(x, non_blocking=True)`).
    """
    return asked_to_block or (not to_device and pinned is False)


def is_straight(
    source: Any,  # noqa: ANN401
    target: Any,  # noqa: ANN401
    *,
    to_device: bool,
    blocking: bool,
    is_dense: Callable[[Any], bool],
) -> bool:
    """Whether no temporary of the host stands between its tensor and the bus.

    `is_dense`: whether a tensor's elements fill their memory, in whatever order.
    """
    if source.dtype == target.dtype and _same_layout(source, target, is_dense):
        return True
    if blocking:
        return False
    if to_device:
        return bool(source.is_contiguous() and source.shape == target.shape)
    return bool(target.is_contiguous())


def _same_layout(source: Any, target: Any, is_dense: Callable[[Any], bool]) -> bool:  # noqa: ANN401
    if source.shape != target.shape:
        return False
    if source.is_contiguous() and target.is_contiguous():
        return True
    return bool(source.stride() == target.stride() and is_dense(source))
