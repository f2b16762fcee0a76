"""Lists of tensors that are read number by number."""

from __future__ import annotations

import ast

from torchperf_lint.facts.value import DEVICE, Frame, Value
from torchperf_lint.facts.values import Values
from torchperf_lint.model import Confidence


def holds_device_scalars(values: Values, data: ast.expr, frame: Frame) -> Value | None:
    """The elements of a list that `torch.tensor(...)` is made of, where they are tensors on the device; else None.

    They have one number each: with more, torch refuses to make a tensor of them.
    """
    while isinstance(data, ast.List | ast.Tuple) and len(data.elts) == 1 and isinstance(data.elts[0], ast.ListComp):
        data = data.elts[0]  # `[[t[0] for t in x]]`
    if isinstance(data, ast.List | ast.Tuple):
        found = [values.of(element, frame) for element in data.elts[:_FEW]]
        told = [value for value in found if _is_on_device(value)]
        return told[0] if told else None
    if isinstance(data, ast.BinOp):
        return None  # `[t] * n`: TPL252 tells of the one number
    held = values.of(data, frame)
    item = held.item if held.kind == "sequence" else None
    return item if item is not None and _is_on_device(item) else None


_FEW = 8


def _is_on_device(value: Value) -> bool:
    """Evidence that it is there: of what was only computed from unknown things, much stays on the host."""
    return value.kind == "tensor" and value.device == DEVICE and value.confidence is not Confidence.POSSIBLE
