"""What a backward pass gets back of its `forward`: `x, width = ctx.saved_tensors`, piece by piece.

    def forward(ctx, x, width):
        ctx.save_for_backward(x, torch.tensor(width))      # the second one lies in host memory, and stays there
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Frame, Value, sequence, tensor

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_SAVED = tensor(ANYWHERE, "what `forward` saved for the backward pass")


def saved_tensors(values: Values, frame: Frame) -> Value:
    """The tensors that `ctx.saved_tensors` holds at a place; one by one where `forward` saves them in one call."""
    saving = _saving(values, frame)
    if saving is None:
        return sequence(_SAVED)
    call, function = saving
    body = values.body(frame.path)
    assert body is not None
    at = frame.hop(frame.path, function, body.at(call))
    found = [values.of(argument, at) for argument in call.args]
    pieces = tuple(piece if piece.kind == "tensor" and piece.device == HOST else _SAVED for piece in found)
    return sequence(_SAVED, pieces)


def _saving(values: Values, frame: Frame) -> tuple[ast.Call, int] | None:
    """The one call of `save_for_backward` in the `forward` of the class around a place, and the function's number."""
    outline, body = values.index.outlines[frame.path], values.body(frame.path)
    number = outline.functions[frame.function].class_index
    if number < 0 or body is None:
        return None
    forward = values.index.record(Thing("class", frame.path, number)).methods.get("forward")
    node = body.functions.get(forward) if forward is not None else None
    if node is None or forward is None:
        return None
    calls = [part for part in nodes_of(node) if isinstance(part, ast.Call) and _saves(part)]
    whole = len(calls) == 1 and not any(isinstance(argument, ast.Starred) for argument in calls[0].args)
    return (calls[0], forward) if whole else None


def _saves(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "save_for_backward"
