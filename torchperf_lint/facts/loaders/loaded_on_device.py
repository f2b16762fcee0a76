"""Data that `torch.load` puts onto the device: `torch.load(path, map_location="cuda")`, also by names, attributes and
what constructors are given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.constants.held import changed_in
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.values.value import DEVICE, Frame
from torchperf_lint.facts.values.values import Values

_HOPS = 5


def is_loaded_there(values: Values, node: ast.expr, frame: Frame, hops: int = _HOPS) -> bool:
    """Whether an expression may stand for what was loaded onto the device, or for a part of it."""
    if isinstance(node, ast.Subscript):
        node = node.value
    if isinstance(node, ast.Call):
        return _loads_there(values, node, frame)
    return hops > 0 and any(is_loaded_there(values, of, at, hops - 1) for of, at in _bound_to(values, node, frame))


def _loads_there(values: Values, call: ast.Call, frame: Frame) -> bool:
    mapped = keyword(call, "map_location")
    thing = values.thing(call.func, frame) if mapped is not None else None
    if mapped is None or thing is None or thing.dotted not in ("torch.load", "torch.serialization.load"):
        return False
    return device_of(values, mapped, frame) == DEVICE


def _bound_to(values: Values, node: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What a name or attribute is set to, and where."""
    body = values.body(frame.path)
    if isinstance(node, ast.Attribute):
        yield from _kept_as(values, node, frame)
    elif isinstance(node, ast.Name) and body is not None:
        assigned = body.assigned(frame.function, node.id, frame.at)
        yield from ((value, frame.hop(frame.path, frame.function, body.at(value))) for value in assigned)
        if not assigned:
            yield from _given(values, node.id, frame)


def _kept_as(values: Values, node: ast.Attribute, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    owner = values.of(node.value, frame).thing
    if owner is None or owner.kind != "instance":
        return
    for own in values.index.ancestry(owner):
        for key in changed_in(values, own, node.attr):
            body = values.body(key.path)
            if body is not None:
                assigned = body.self_assigned(key.index, node.attr)
                yield from ((value, frame.hop(key.path, key.index, body.at(value))) for value, _ in assigned)


def _given(values: Values, name: str, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What callers in sight pass for a parameter."""
    function = values.index.function(FunctionKey(frame.path, frame.function))
    if name not in {parameter.name for parameter in function.parameters}:
        return
    for site in values.hotness.callers.get(FunctionKey(frame.path, frame.function), ()):
        call, body = call_at(values, site), values.body(site.path)
        passed = argument_for(call, function, name) if call is not None else None
        if passed is not None and body is not None:
            yield passed, frame.hop(site.path, site.call.function, body.at(passed))
