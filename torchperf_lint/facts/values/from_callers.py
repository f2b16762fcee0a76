"""Values of parameters, as the calls of their function tell them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.fitting_calls import fitting_calls
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_of, call_at, passed_by, place_of, spread_to
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.outlines.records import Function, Parameter
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.values.tried_out import is_made_up, is_tried_out
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST, UNKNOWN, Frame, Value, join
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 12
"""Call sites looked at for what a parameter receives."""


def from_callers(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value:
    """What the calls of a function pass for one of its parameters; unknown where it is never called."""
    key = FunctionKey(frame.path, frame.function)
    sites = fitting_calls(values, key, function)
    if not sites:
        return UNKNOWN
    position = place_of(function, parameter.name)
    found: list[Value] = []
    tried: list[Value] = []
    for site in sites[:_MAX_CALLERS]:
        value = _passed(values, site, position, parameter, frame)
        if value is not None and not is_made_up(values, key, site, value):
            (tried if is_tried_out(values, key, site, value) else found).append(value)
    if not any(value.kind == "tensor" for value in found):  # else those say it, who call in earnest
        found += [value.moved(ANYWHERE) for value in tried]
    if not found or len(sites) > _MAX_CALLERS:
        return join(found).weaker(Confidence.LIKELY) if found else UNKNOWN
    value = join(found)
    if value.kind == "tensor" and value.device == HOST and any(one.kind == "unknown" for one in found):
        return value.moved(ANYWHERE)  # one caller's tensor is on the host; of another's nobody knows
    return value


def _passed(values: Values, site: CallSite, position: int, parameter: Parameter, frame: Frame) -> Value | None:
    path, call = site.path, site.call
    node = call_at(values, site)
    if node is None:
        return UNKNOWN
    held = _given_before(values, site)
    if not parameter.by_name:
        position -= held
        if position < 0:
            return UNKNOWN  # a partial holds it
    argument = argument_of(node, position, parameter.name)
    if argument is None:
        spread = spread_to(values, node, position, frame.hop(path, call.function, (call.line, call.column)))
        if spread is not None:
            return spread
        return None if parameter.default and not unpacks_keywords(node) else UNKNOWN
    at = (call.line, call.column)
    there = frame.hop(path, call.function, at)
    value = values.of(argument, there)
    if value.kind == "unknown" and isinstance(argument, ast.Attribute) and argument.attr == "device":
        return Value("torch_device", ANYWHERE)  # whatever the default says: `f(queries.device)`
    text = value.kind in ("unknown", "plain") and parameter.name == "device"
    if text and device_of(values, argument, there) == DEVICE:
        return Value("torch_device", ANYWHERE)
    if value.kind in ("tensor", "batch") and value.because:
        return value.with_reason(passed_by(path, call.line, value.because))
    return value


def _given_before(values: Values, site: CallSite) -> int:
    """How many arguments the called partial has got already."""
    thing = values.types.thing(site.path, site.call.function, site.call.callee)
    return int(thing.dotted) if thing is not None and thing.kind == "partial" else 0
