"""Lists of tensors that are read number by number."""

from __future__ import annotations

import ast

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.names import untested_value
from torchperf_lint.facts.values.value import DEVICE, Frame, Value
from torchperf_lint.facts.values.values import Values
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
    item = held.item if held.kind == "sequence" and not _is_the_other_form(values, data, frame) else None
    return item if item is not None and _is_on_device(item) else None


_FEW = 8


def _is_the_other_form(values: Values, data: ast.expr, frame: Frame) -> bool:
    """`if isinstance(anchors, list): anchors = torch.tensor(anchors)`: numbers, where else it is a tensor of them.

    What is known to be a list of tensors without the test is one: `losses = [loss_a, loss_b]`, then the test.
    """
    body = values.body(frame.path) if isinstance(data, ast.Name | ast.Attribute) else None
    tested = body.narrowing(frame.function, chain(data), frame.at) if body is not None else None
    if tested is None or not tested.holds or "list" not in tested.classes.lower():
        return False
    return not isinstance(data, ast.Name) or untested_value(values, data.id, frame).kind != "sequence"


def _is_on_device(value: Value) -> bool:
    """Evidence that it is there: of what was only computed from unknown things, much stays on the host."""
    return value.kind == "tensor" and value.device == DEVICE and value.confidence is not Confidence.POSSIBLE


def becomes_one_beside(file: SourceFile, site: Site, data: ast.expr) -> Value | None:
    """The one tensor that a method of another makes a tensor of, `cost.new((loss,))`: it lies beside that already."""
    if last_part(site.record.callee) not in _OF_ANOTHER or not isinstance(data, ast.List | ast.Tuple):
        return None
    value = on_device(file, site, data.elts[0]) if len(data.elts) == 1 else None
    sure = value is not None and value.kind == "tensor" and value.confidence is not Confidence.POSSIBLE
    return value if sure else None


_OF_ANOTHER = ("new", "new_tensor")
