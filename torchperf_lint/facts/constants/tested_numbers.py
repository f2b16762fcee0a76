"""Names that a test shows to be one number, where a tensor would do as well: `if isinstance(sigma, (int, float)):`.

And what is left of `sigma: Tensor | float` where `isinstance(sigma, Tensor)` does not hold.
"""

from __future__ import annotations

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.hints import annotation_words
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.values.value import MAX_HOPS, Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_MAX_CALLERS = 8
"""Calls looked at for what a parameter is given."""
_WORDS = pattern(r"\w+")
_NUMBER_CLASSES = frozenset("int float bool complex Number Real Integral numbers".split())
"""Words of a test for numbers: `isinstance(x, (int, float))`, `numbers.Number`."""
_TENSOR_CLASSES = frozenset({"torch", "Tensor", "FloatTensor", "LongTensor"})
_UNIONS = frozenset({"Union", "Optional", "None", "typing", "t"})
"""What else stands in an annotation."""
_TENSORS = frozenset({"tensor", "batch", "array"})
_ON_HOST = frozenset({"plain", "array"})


def tested_number(values: Values, name: str, frame: Frame) -> bool:
    """Whether `if isinstance(sigma, (int, float)):` was asked, unless all that the project gives there are tensors."""
    body = values.body(frame.path)
    tested = body.narrowing(frame.function, name, frame.at) if body is not None else None
    if body is None or tested is None:
        return False
    if any(d.at >= tested.start for d in body.reaching(frame.function, name, frame.at) or ()):
        return False
    words = set(_WORDS.findall(tested.classes))
    if not tested.holds:
        return words <= _TENSOR_CLASSES and _is_left_over(values, body, name, frame)
    if not words <= _NUMBER_CLASSES:
        return False
    key = FunctionKey(frame.path, frame.function)
    function, callers = values.index.function(key), values.hotness.callers.get(key, ())
    if not callers or all(parameter.name != name for parameter in function.parameters):
        return True
    if frame.hops >= MAX_HOPS:
        return False
    return not all(_given(values, site, function, name, frame) in _TENSORS for site in callers[:_MAX_CALLERS])


def _is_left_over(values: Values, body: Body, name: str, frame: Frame) -> bool:
    """Whether what is no tensor is a number, `t: Tensor | float`, and the project hands such over: `for t in steps`.

    An element of an array is a number of numpy's, whose annotation says that it is no array.
    """
    hint = annotation_words(body, frame.function, name) or frozenset()
    if not hint & _NUMBER_CLASSES or not hint <= _NUMBER_CLASSES | _TENSOR_CLASSES | _UNIONS:
        return False
    if frame.hops >= MAX_HOPS:
        return False
    key = FunctionKey(frame.path, frame.function)
    function, callers = values.index.function(key), values.hotness.callers.get(key, ())
    return any(_given(values, site, function, name, frame) in _ON_HOST for site in callers[:_MAX_CALLERS])


def _given(values: Values, site: CallSite, function: Function, name: str, frame: Frame) -> str:
    """The kind of what a call gives for a parameter; nothing where that is not seen."""
    call = call_at(values, site)
    argument = argument_for(call, function, name) if call is not None else None
    at = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
    return values.of(argument, at).kind if argument is not None else ""
