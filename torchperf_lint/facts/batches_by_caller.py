"""A parameter that some hot caller gives a batch on the host, whatever it is by its other callers.

`def parse(self, x): x = x.cuda()` is called with batches by the training loop, and with stored features by a script:
all callers together tell neither where `x` is nor that it is a batch. For the loop, each copy is one that waits.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.hot_callers import MAX_CALLS, hot_callers
from torchperf_lint.facts.index import FunctionKey
from torchperf_lint.facts.value import DEVICE, HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values


def batch_of_a_caller(values: Values, node: ast.expr, frame: Frame, calls: int = MAX_CALLS) -> Value | None:
    """The batch that a parameter is in a call which runs at every step or evaluation batch; None where none is seen."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name) or not calls:
        return None
    key = FunctionKey(frame.path, frame.function)
    if not any(p.name == node.id for p in values.index.function(key).parameters):
        return None
    if body.reaching(frame.function, node.id, frame.at):
        return None
    for caller in hot_callers(values, frame):
        argument = caller.argument(node.id)
        if argument is None:
            continue
        given = values.of(argument, caller.frame)
        if given.kind == "batch" and given.device == HOST:
            return caller.passing(given)
        further = batch_of_a_caller(values, argument, caller.frame, calls - 1) if given.device != DEVICE else None
        if further is not None:
            return further
    return None
