"""Names that a test shows to be one number, where a tensor would do as well: `if isinstance(sigma, (int, float)):`."""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import MAX_HOPS, Values
from torchperf_lint.patterns import pattern

_MAX_CALLERS = 8
"""Calls looked at for what a parameter is given."""
_WORDS = pattern(r"\w+")
_NUMBER_CLASSES = frozenset("int float bool complex Number Real Integral numbers".split())
"""Words of a test for numbers: `isinstance(x, (int, float))`, `numbers.Number`."""


def tested_number(values: Values, name: str, frame: Frame) -> bool:
    """Whether `if isinstance(sigma, (int, float)):` was asked, unless all that the project gives there are tensors."""
    body = values.body(frame.path)
    tested = body.narrowing(frame.function, name, frame.at) if body is not None else None
    if body is None or tested is None or not tested.holds or not set(_WORDS.findall(tested.classes)) <= _NUMBER_CLASSES:
        return False
    if any(d.at >= tested.start for d in body.reaching(frame.function, name, frame.at) or ()):
        return False
    key = FunctionKey(frame.path, frame.function)
    function, callers = values.index.function(key), values.hotness.callers.get(key, ())
    if not callers or all(parameter.name != name for parameter in function.parameters):
        return True
    if frame.hops >= MAX_HOPS:
        return False
    return not all(_gives_a_tensor(values, site, function, name, frame) for site in callers[:_MAX_CALLERS])


def _gives_a_tensor(values: Values, site: CallSite, function: Function, name: str, frame: Frame) -> bool:
    call = call_at(values, site)
    argument = argument_for(call, function, name) if call is not None else None
    at = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
    return argument is not None and values.of(argument, at).kind in ("tensor", "batch", "array")
