"""The calls of a function that run at every step or evaluation batch, whatever its other calls are for."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at, passed_by
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.values.value import Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

MAX_CALLERS = 30
MAX_CALLS = 3
"""How many calls back it is asked what is passed on."""


class HotCaller(NamedTuple):
    """One of these calls."""

    call: ast.Call
    function: Function
    """What it calls."""
    frame: Frame
    """Where it stands."""

    def argument(self, name: str) -> ast.expr | None:
        """What it passes for a parameter, or None when it cannot be told."""
        return argument_for(self.call, self.function, name)

    def passing(self, value: Value) -> Value:
        """A value that it passes, with that for a reason."""
        return value.with_reason(passed_by(self.frame.path, self.frame.at[0], value.because))


def hot_callers(values: Values, frame: Frame) -> Iterator[HotCaller]:
    """Those of the function that a place is in, `MAX_CALLERS` at most looked at."""
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    for site in values.hotness.callers.get(key, ())[:MAX_CALLERS]:
        call = call_at(values, site)
        if call is not None and values.hotness.of_region(site.path, site.call.region) is not None:
            yield HotCaller(call, record, Frame(site.path, site.call.function, (site.call.line, site.call.column)))
