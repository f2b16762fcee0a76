"""What gradients are computed now: those by another formula on a card (`y.max().backward()` reads nothing there, on the
host two values), those of indexing, and of which operation: "cumprod", where Python only shows `loss.backward()`.

Read in torch/csrc/autograd/FunctionsManual.cpp at 2.13, where `evenly_distribute_backward` alone asks `is_cuda()` and
reads a value otherwise. The other backward formulas that read (of `prod`, `cumprod`, `masked_fill` with a tensor,
`masked_scatter`, of an index that is a mask) do so on every device.
"""

from __future__ import annotations

import re
import sys
from types import FrameType

import torch

from torchperf_lint.runtime import anomaly

_EVENLY_DISTRIBUTED = {"MaxBackward1", "MinBackward1", "MedianBackward0", "NanmedianBackward0"}
"""Of reductions of the whole tensor; those along a dimension scatter by their indices, on every device."""

_INDEXED = {
    *("IndexBackward0", "UnsafeIndexBackward0"),
    *("IndexPutBackward0", "UnsafeIndexPutBackward0", "IndexPutImplBackward0"),
}
"""Of `x[rows]` and `x[rows] = y`: an index of the host is copied to the device anew."""

_HANDS_ON = (f"{__name__.partition('.')[0]}.", "torch._ops", "torch.library", "torch._library")
"""Modules between a formula and the simulation: its own, and those of torch that call kernels."""
_FORMULA = re.compile(r"(\w+?)Backward\d+")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_CALLED = {"to_copy": "to", "index_put_impl": "index_put", "unsafe_index": "index", "unsafe_index_put": "index_put"}
"""What a script calls the operations that autograd knows by an inner name."""

_node = getattr(torch._C, "_current_autograd_node", None)


def without_a_wait() -> bool:
    """Whether autograd computes such a gradient now: what the host's formula reads there, the card's does not."""
    return _current() in _EVENLY_DISTRIBUTED


def of_an_index() -> bool:
    """Whether the gradient is one of indexing: what is copied in it the forward pass has copied at the line itself."""
    return _current() in _INDEXED


def operation() -> str | None:
    """Whose gradient autograd's own formula computes now ("cumprod"); None elsewhere, as in a hook or a function that
    the script defines the gradient of: there a line of its own stands for what happens.
    """
    return named() if anomaly.is_of_engine(asking()) else None


def named() -> str | None:
    """What a script calls the operation of the node that autograd computes; None where it computes none of its own."""
    name = _current()
    formula = _FORMULA.fullmatch(name) if name is not None else None
    if formula is None:
        return None
    known = _WORD.sub("_", formula[1]).lower()
    return _CALLED.get(known, known)


def asking() -> FrameType | None:
    """The innermost frame that is nobody's who simulates; None where autograd's own thread has no other."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_HANDS_ON):
        frame = frame.f_back
    return frame


def _current() -> str | None:
    """What autograd computes on this thread."""
    node = _node() if _node is not None else None
    return str(node.name()) if node is not None else None
