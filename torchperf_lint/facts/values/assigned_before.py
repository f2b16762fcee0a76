"""An attribute of `self` at a place that an assignment of the same method certainly comes before: what that one gives.

`self.image = batch["image"]`, and then `if self.on_gpu: self.image = self.image.cuda()`: all assignments of the class
together do not say where the image is, but each place of this method does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.outlines.records import END_OF_FILE, Position
from torchperf_lint.facts.values.filling import is_empty_container
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value, join, told, unpacked

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_PLAIN_ASSIGNMENTS = ("assign", "item")
_ITSELF = ("forward", "__call__")
"""What `self(x)` runs."""


def assigned_before(values: Values, node: ast.Attribute, frame: Frame) -> Value:
    """What `self.name` is by the assignments of its method before a place; unknown where those may not hold there."""
    body, owner = values.body(frame.path), node.value
    if body is None or not isinstance(owner, ast.Name):
        return UNKNOWN
    written = f"{owner.id}.{node.attr}"
    bindings = body.attributes(frame.function).get(written)
    if bindings is None:
        return UNKNOWN
    own = values.index.class_of(frame.path, frame.function)
    if own is None or not _is_self(values, owner.id, frame) or values.index.method(own, node.attr) is not None:
        return UNKNOWN
    found = bindings.settled(frame.at, body.block_of(frame.function, frame.at))
    if not found or _may_be_set_between(values, own, node, found[0].end, frame):
        return UNKNOWN
    each = [_given(values, written, d, frame, body) for d in found]
    return UNKNOWN if any(value is None for value in each) else join(value for value in each if value is not None)


def _is_self(values: Values, name: str, frame: Frame) -> bool:
    function = values.index.outlines[frame.path].functions[frame.function]
    return bool(function.parameters) and function.parameters[0].name == name and not function.decorators


def _given(values: Values, written: str, d: Definition, frame: Frame, body: Body) -> Value | None:
    """What one assignment gives; None where what is put in later, by a hook too, says more."""
    if d.how not in _PLAIN_ASSIGNMENTS or d.value is None or isinstance(d.value, ast.Constant):
        return None
    key = ("assigned", frame.path, frame.function, written, d.at)
    value = values.remembered(key, frame, lambda at: _bound(values, written, d, at, body))
    # What a device is that a class writes down, all that give it one decide: device_attributes.py asks them.
    unsaid = value.kind in ("unknown", "torch_device") or is_empty_container(value, d.value)
    return None if unsaid else value


def _bound(values: Values, written: str, d: Definition, frame: Frame, body: Body) -> Value:
    assert d.value is not None
    value = unpacked(values.of(d.value, frame.back(body.at(d.value), d.end)), d.index)
    if value.kind in ("tensor", "batch", "module") and value.because:
        return value.with_reason(told(written, value.because, d.at[0]))
    return value


# -- what may set it in between --------------------------------------------------------------------------


def _may_be_set_between(values: Values, own: Thing, node: ast.Attribute, since: Position, frame: Frame) -> bool:
    """Whether a call of the method may set the attribute, after the first assignment and before the place.

    In a loop that the assignment stands before, whatever follows comes before the next turn.
    """
    body, assigned = values.body(frame.path), node.value
    assert body is not None and isinstance(assigned, ast.Name)
    loops = any(branch == "loop" for _, branch in body.block_of(frame.function, frame.at))
    until = END_OF_FILE if loops else frame.at
    if any(since[0] <= line <= until[0] for _, line, _ in body.passed_to(frame.function, assigned.id)):
        return True
    key = FunctionKey(frame.path, frame.function)
    for call in values.index.calls_in(key):
        if since <= (call.line, call.column) < until:
            for called in _own_methods(values, own, call.callee, assigned.id):
                if node.attr in _attributes_set(values, own, called, frozenset()):
                    return True
    return False


def _own_methods(values: Values, own: Thing, callee: str, assigned: str) -> Iterator[FunctionKey]:
    """The methods that a call may run on the same object: `self.step()`, `super().step()`, `self(x)`."""
    owner, _, name = callee.rpartition(".")
    if callee == assigned:
        for name in _ITSELF:
            yield from values.index.run_below(own, name)
    elif owner == assigned:
        yield from values.index.run_below(own, name)
    elif owner == "super()":
        for cls in values.index.ancestry(own):
            number = values.index.record(cls).methods.get(name) if cls.kind == "class" else None
            if number is not None:
                yield FunctionKey(cls.path, number)


def _attributes_set(values: Values, own: Thing, key: FunctionKey, above: frozenset[FunctionKey]) -> frozenset[str]:
    """The attributes of its object that a method sets, with the methods that it calls."""
    kept = values.attributes_set.get((own, key))
    if kept is not None or key in above:
        return kept or frozenset()
    body, parameters = values.body(key.path), values.index.function(key).parameters
    if body is None or not parameters:
        return frozenset()
    assigned = parameters[0].name
    found = {name.removeprefix(f"{assigned}.") for name in body.attributes(key.index) if name.startswith(assigned)}
    for call in values.index.calls_in(key):
        for called in _own_methods(values, own, call.callee, assigned):
            found |= _attributes_set(values, own, called, above | {key})
    if not above:
        values.attributes_set[own, key] = frozenset(found)
    return frozenset(found)
