"""What gradients are computed now: those by another formula on a card (`y.max().backward()` reads nothing there, on the
host two values), and those of indexing.

Read in torch/csrc/autograd/FunctionsManual.cpp at 2.13, where `evenly_distribute_backward` alone asks `is_cuda()` and
reads a value otherwise. The other backward formulas that read (of `prod`, `cumprod`, `masked_fill` with a tensor,
`masked_scatter`, of an index that is a mask) do so on every device.
"""

from __future__ import annotations

import torch

_EVENLY_DISTRIBUTED = {"MaxBackward1", "MinBackward1", "MedianBackward0", "NanmedianBackward0"}
"""Of reductions of the whole tensor; those along a dimension scatter by their indices, on every device."""

_INDEXED = {
    *("IndexBackward0", "UnsafeIndexBackward0"),
    *("IndexPutBackward0", "UnsafeIndexPutBackward0", "IndexPutImplBackward0"),
}
"""Of `x[rows]` and `x[rows] = y`: an index of the host is copied to the device anew."""

_node = getattr(torch._C, "_current_autograd_node", None)


def without_a_wait() -> bool:
    """Whether autograd computes such a gradient now: what the host's formula reads there, the card's does not."""
    return _current() in _EVENLY_DISTRIBUTED


def of_an_index() -> bool:
    """Whether the gradient is one of indexing: what is copied in it the forward pass has copied at the line itself."""
    return _current() in _INDEXED


def _current() -> str | None:
    """What autograd computes on this thread."""
    node = _node() if _node is not None else None
    return str(node.name()) if node is not None else None
