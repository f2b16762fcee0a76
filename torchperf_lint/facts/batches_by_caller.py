"""A parameter that some hot caller gives a batch on the host, whatever it is by its other callers.

`def parse(self, x): x = x.cuda()` is called with batches by the training loop, and with stored features by a script:
all callers together tell neither where `x` is nor that it is a batch. For the loop, each copy is one that waits.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.passed import argument_for, call_at
from torchperf_lint.facts.value import DEVICE, HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_MAX_CALLERS = 30
_MAX_CALLS = 3
"""How many calls back it is asked what is passed on."""


def batch_of_a_caller(values: Values, node: ast.expr, frame: Frame, calls: int = _MAX_CALLS) -> Value | None:
    """The batch that a parameter is in a call which runs at every step or evaluation batch; None where none is seen."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name) or not calls:
        return None
    key = FunctionKey(frame.path, frame.function)
    record, callers = values.index.function(key), values.hotness.callers.get(key, ())
    if not any(p.name == node.id for p in record.parameters) or not 0 < len(callers) <= _MAX_CALLERS:
        return None
    if body.reaching(frame.function, node.id, frame.at):
        return None
    for site in callers:
        call = call_at(values, site)
        argument = argument_for(call, record, node.id) if call is not None else None
        if argument is None or values.hotness.of_region(site.path, site.call.region) is None:
            continue
        there = Frame(site.path, site.call.function, (site.call.line, site.call.column))
        given = values.of(argument, there)
        if given.kind == "batch" and given.device == HOST:
            return given.with_reason(f"passed by the call at {site.path}:{site.call.line}: {given.because}")
        further = batch_of_a_caller(values, argument, there, calls - 1) if given.device != DEVICE else None
        if further is not None:
            return further
    return None
