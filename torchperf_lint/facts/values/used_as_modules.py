"""Names for something that was moved, and is a module by what the function does with it: it calls it, or trains it.

    width = model.width                     # a number; of a tensor that was moved it would be a part
    for x, y in loader:
        loss = criterion(model(x), y)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_OF_MODULES = frozenset("train eval parameters named_parameters state_dict load_state_dict modules zero_grad".split())


def used_as_a_module(values: Values, value: Value, name: ast.Name, frame: Frame) -> bool:
    """Whether what is held for a tensor, as it is moved, is called in this function, which no tensor is."""
    if value.confidence is not Confidence.LIKELY or "moved by `." not in value.because:
        return False
    for call in values.index.calls_in(FunctionKey(frame.path, frame.function)):
        owner, _, method = call.callee.rpartition(".")
        if call.callee == name.id or (owner == name.id and method in _OF_MODULES):
            return True
    return False
