"""What `*args` and `**kwargs` hold: what callers pass beyond the named parameters, as in `metric.add(loss, hits)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.passed import call_at
from torchperf_lint.facts.value import CALLER_HOPS, UNKNOWN, Frame, Value, join, sequence
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_MAX_CALLERS = 8


def value_of_rest(values: Values, name: str, frame: Frame) -> Value | None:
    """The sequence that `*name` or `**name` of a frame's function holds; None where the function has none."""
    body = values.body(frame.path)
    node = body.functions.get(frame.function) if body is not None else None
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    starred = node.args.vararg is not None and node.args.vararg.arg == name
    if not starred and (node.args.kwarg is None or node.args.kwarg.arg != name):
        return None
    key = ("rest", frame.path, frame.function, name)
    return values.remembered(key, frame, lambda at: _passed(values, starred, at))


def _passed(values: Values, starred: bool, frame: Frame) -> Value:
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    named = {p.name for p in record.parameters}
    before = len(named) - record.bound
    found = []
    for site in values.hotness.callers.get(key, ())[:_MAX_CALLERS]:
        call = call_at(values, site)
        if call is None:
            continue
        there = frame.hop(site.path, site.call.function, (site.call.line, site.call.column))
        there = there._replace(hops=frame.hops + CALLER_HOPS)
        given = call.args[before:] if starred else [k.value for k in call.keywords if k.arg and k.arg not in named]
        found += [values.of(argument, there) for argument in given if not isinstance(argument, ast.Starred)]
    return sequence(join(found).weaker(Confidence.LIKELY)) if found else UNKNOWN
