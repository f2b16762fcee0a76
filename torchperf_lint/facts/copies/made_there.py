"""Tensors that a call makes on the device of numbers that the host has: `torch.full((n,), width, device=x.device)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.copies.own_factories import torch_name
from torchperf_lint.facts.devices.devices import target_device
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.values.value import DEVICE, Frame
from torchperf_lint.facts.values.values import Values


def is_made_of_host_numbers(values: Values, node: ast.Call, frame: Frame) -> bool:
    """Whether a call fills a tensor on the device with one number of the host's, or copies a list of such there."""
    name = torch_name(values, node, frame)
    if name not in ("full", "tensor", "as_tensor") or keyword(node, "device") is None:
        return False
    first = node.args[int(name == "full") :][:1]
    given = first[0] if first else keyword(node, "fill_value")
    if given is None or target_device(values, node, frame) != DEVICE:
        return False
    if is_host_number(values, given, frame):
        return True
    value = values.of(given, frame) if name != "full" else None
    listed = value is not None and value.kind == "sequence" and value.item is not None and value.item.kind == "plain"
    return listed or (value is not None and value.kind == "array")
