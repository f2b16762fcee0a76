"""Numbers that an object of a library computes from tensors on the device, `radii` of `_, radii = rasterizer(points)`.

Extensions that are written in C++ or CUDA say nothing of what they give back. What is compared with a number, to pick
elements by it, and was computed from tensors on the device, is one itself.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.values.value import DEVICE, HOST, UNKNOWN, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def is_result_compared(values: Values, node: ast.Compare, frame: Frame) -> bool:
    """Whether a comparison is `result > 0`, of what an object that is not of the project made of such tensors."""
    body = values.body(frame.path)
    if body is None or not isinstance(node.left, ast.Name) or len(node.comparators) != 1:
        return False
    number = node.comparators[0]
    if not isinstance(number, ast.Constant) or type(number.value) not in (int, float):
        return False
    reaching = body.reaching(frame.function, node.left.id, frame.at) or ()
    made = [d.value for d in reaching if d.how in ("assign", "item")]
    return bool(made) and len(made) == len(reaching) and all(_computes(values, call, frame) for call in made)


def _computes(values: Values, node: ast.expr | None, frame: Frame) -> bool:
    """Whether a call of an object of a library gets tensors on the device, and none of the host."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Call):
        return False
    there = frame._replace(at=body.at(node))
    called = values.thing(node.func, there)
    if called is None or called.kind != "external" or not called.dotted.endswith("()"):
        return False
    given = [*(values.of(a, there) for a in arguments(node)), *_spread(values, node, there)]
    devices = {value.device for value in given if value.kind == "tensor"}
    return DEVICE in devices and HOST not in devices


def _spread(values: Values, node: ast.Call, frame: Frame) -> Iterator[Value]:
    """What the dicts hold that a call spreads: `rasterizer(**points)` of `points = {"means": means, "scales": s}`."""
    for keyword in node.keywords:
        held = values.of(keyword.value, frame) if keyword.arg is None else UNKNOWN
        if held.kind == "sequence" and held.item is not None:
            yield held.item
