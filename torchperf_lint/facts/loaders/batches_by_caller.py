"""A parameter that some hot caller gives a batch on the host, whatever it is by its other callers.

`def parse(self, x): x = x.cuda()` is called with batches by the training loop, and with stored features by a script:
all callers together tell neither where `x` is nor that it is a batch. For the loop, each copy is one that waits.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.hot_callers import MAX_CALLS, hot_callers
from torchperf_lint.facts.loaders.batches_of_mappings import is_asked, mapping_of, passes_mapping
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def batch_of_a_caller(values: Values, node: ast.expr, frame: Frame, calls: int = MAX_CALLS) -> Value | None:
    """The batch that a parameter is in a call which runs at every step or evaluation batch; None where none is seen."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name) or not calls:
        return None
    parameters = {p.name for p in values.index.function(FunctionKey(frame.path, frame.function)).parameters}
    whole = mapping_of(values, node, frame)
    if whole is not None:  # a mapping may be an entry of another, which no caller passes
        return _of_mapping(values, whole, frame._replace(at=body.at(whole))) if whole.id in parameters else None
    if node.id not in parameters:
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


def is_for_others(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether a parameter stands in a branch for what is no mapping, and all its hot callers pass mappings."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Name) or is_asked(body, node.id, frame) is not False:
        return False
    callers = list(hot_callers(values, frame))
    return bool(callers) and all(passes_mapping(values, caller) for caller in callers)


def _of_mapping(values: Values, node: ast.Name, frame: Frame) -> Value | None:
    """The batch that a parameter, known to be a mapping, is in such a call, where the caller shows it to be one."""
    for caller in hot_callers(values, frame):
        argument = caller.argument(node.id)
        given = values.of(argument, caller.frame) if argument is not None else None
        if given is not None and given.kind == "batch" and given.device == HOST and passes_mapping(values, caller):
            return caller.passing(given)
    return None
