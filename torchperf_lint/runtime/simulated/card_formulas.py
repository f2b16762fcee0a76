"""Gradients that torch computes by another formula on a card: `y.max().backward()` waits for none, the host's for two.

Read in torch/csrc/autograd/FunctionsManual.cpp at 2.13, where `evenly_distribute_backward` alone asks `is_cuda()` and
reads a value otherwise. The other backward formulas that read (of `prod`, `cumprod`, `masked_fill` with a tensor,
`masked_scatter`, of an index that is a mask) do so on every device.
"""

from __future__ import annotations

import torch

_EVENLY_DISTRIBUTED = {"MaxBackward1", "MinBackward1", "MedianBackward0", "NanmedianBackward0"}
"""Of reductions of the whole tensor; those along a dimension scatter by their indices, on every device."""

_node = getattr(torch._C, "_current_autograd_node", None)


def without_a_wait() -> bool:
    """Whether autograd computes such a gradient now: what the host's formula reads there, the card's does not."""
    node = _node() if _node is not None else None
    return node is not None and node.name() in _EVENLY_DISTRIBUTED
