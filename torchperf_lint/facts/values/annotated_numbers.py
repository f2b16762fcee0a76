"""Parameters annotated as numbers to which every caller hands a tensor: Python does not hold it against them.

    def step(self, x: Tensor, sigma: float):
        return x * math.sqrt(sigma)                # waits for the device

    for i in range(steps):
        x = self.step(x, sigmas[i])
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.fitting_calls import fitting_calls
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at, passed_by
from torchperf_lint.facts.outlines.records import Function, Parameter
from torchperf_lint.facts.values.value import Frame, Value, join
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_NUMBERS = frozenset({"float", "Optional[float]", "float | None", "Union[float, None]", "None | float"})
_MOST = 6
"""Calls that are looked at; of what more call, some keep to the annotation."""


def tensor_in_earnest(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value | None:
    """The tensor that all callers hand over for a parameter annotated `float`; None where one keeps to that."""
    key = FunctionKey(frame.path, frame.function)
    if parameter.annotation not in _NUMBERS:
        return None
    sites = fitting_calls(values, key, function)
    if not 0 < len(sites) <= _MOST:
        return None
    found: list[Value] = []
    for site in sites:
        node = call_at(values, site)
        argument = argument_for(node, function, parameter.name) if node is not None else None
        if argument is None:
            return None
        at = (site.call.line, site.call.column)
        value = values.of(argument, frame.hop(site.path, site.call.function, at))
        if value.kind == "nothing":
            continue  # the function's own call of itself
        if value.kind != "tensor" or value.confidence is not Confidence.CERTAIN:
            return None
        found.append(value.with_reason(passed_by(site.path, site.call.line, value.because)))
    return join(found) if found else None
