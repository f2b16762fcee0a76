"""Tensors that torch computes on the host, over several statements, from what one call made there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts import torch_api as api
from torchperf_lint.facts.host_data import Made, Upload, constant_upload, destination, made_on_host
from torchperf_lint.facts.value import DEVICE, HOST, Frame
from torchperf_lint.facts.values import Values

_MAX_PARTS = 24
"""How many expressions between a tensor and what made it are looked at."""


def computed_upload(values: Values, node: ast.Call, frame: Frame) -> Upload | None:
    """The upload that `kernel.to(x.device)` makes of what the code computed on the host, of numbers no step changes.

    Numbers of the step may scale it: that the device does as well.
    """
    if not isinstance(node.func, ast.Attribute) or not isinstance(node.func.value, ast.Name):
        return None
    if not _takes_host_data(values, frame):
        return None
    value = values.of(node.func.value, frame)
    if value.kind != "tensor" or value.device != HOST or made_on_host(values, node.func.value, frame) is not None:
        return None
    device, written = destination(values, node, frame)
    made = computed_on_host(values, node.func.value, frame) if device == DEVICE else None
    body = values.body(frame.path)
    if made is None or body is None or made.function != frame.function or made.factory not in api.HOST_DATA:
        return None
    return constant_upload(values, made.call, frame._replace(at=body.at(made.call)), written)


def _takes_host_data(values: Values, frame: Frame) -> bool:
    """Whether a function makes a tensor of data at all: seen from its calls, long before any value is worked out."""
    body = values.body(frame.path)
    for callee in body.callees(frame.function) if body is not None else ():
        thing = values.types.thing(frame.path, frame.function, callee)
        if thing is not None and thing.kind == "external" and thing.dotted.removeprefix("torch.") in api.HOST_DATA:
            return True
    return False


def computed_on_host(values: Values, node: ast.expr, frame: Frame) -> Made | None:
    """The one call that made all data of a tensor on the host, through `torch.outer(k, k)`, `k / k.sum()`, `k *= 2`.

    Unlike `made_on_host` it follows names with several bindings, as `if k.ndim == 1: k = torch.outer(k, k)` makes them.
    """
    found: dict[int, Made] = {}
    seen: set[tuple[int, int]] = set()
    stack = [(node, frame)]
    for _ in range(_MAX_PARTS):
        if not stack:
            return next(iter(found.values())) if len(found) == 1 else None
        part, at = stack.pop()
        made = made_on_host(values, part, at)
        if made is not None:
            found[id(made.call)] = made
            continue
        value = values.of(part, at)
        if value.kind == "plain":
            continue
        if value.kind != "tensor" or value.device != HOST:
            return None
        parts = _bound(values, part, at, seen) if isinstance(part, ast.Name) else _operands(part, at)
        if parts is None:
            return None
        stack += parts
    return None


def _bound(
    values: Values, node: ast.Name, frame: Frame, seen: set[tuple[int, int]]
) -> list[tuple[ast.expr, Frame]] | None:
    """What a local name may be bound to, each binding once; None where one cannot be told."""
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if not reaching or any(d.how not in ("assign", "augmented") or d.value is None for d in reaching):
        return None
    new = [d for d in reaching if d.at not in seen]
    seen.update(d.at for d in new)
    return [(d.value, frame.hop(frame.path, frame.function, d.at)) for d in new if d.value is not None]


def _operands(node: ast.expr, frame: Frame) -> list[tuple[ast.expr, Frame]] | None:
    """What an operator, a method or a function of torch computes with."""
    if isinstance(node, ast.BinOp):
        return [(node.left, frame), (node.right, frame)]
    if isinstance(node, ast.UnaryOp):
        return [(node.operand, frame)]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return [(part, frame) for part in _of_call(node, node.func)]
    return [(node.value, frame)] if isinstance(node, ast.Subscript) else None


def _of_call(node: ast.Call, function: ast.Attribute) -> Iterator[ast.expr]:
    if not isinstance(function.value, ast.Name) or function.value.id != "torch":
        yield function.value
    yield from node.args
