"""What the method that a method overrides promises of a parameter: overriding ones seldom repeat the annotations.

class LogitsProcessor:
    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor): ...

class NoRepeat(LogitsProcessor):
    def __call__(self, input_ids, scores): ...
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.facts.index import Thing
from torchperf_lint.facts.nominal import from_annotation
from torchperf_lint.facts.records import Function, Parameter
from torchperf_lint.facts.value import UNKNOWN, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values


def promised_above(values: Values, function: Function, parameter: Parameter, frame: Frame) -> Value:
    """The tensor that a parameter of the same name is annotated to be in a base class of the project, or nothing."""
    if function.class_index < 0 or function.name == "__init__":
        return UNKNOWN
    own = Thing("class", frame.path, function.class_index)
    for base in values.index.ancestry(own):
        if base.kind != "class" or base == own:
            continue
        number = values.index.record(base).methods.get(function.name)
        above = values.index.outlines[base.path].functions[number].parameters if number is not None else ()
        annotated = next((p.annotation for p in above if p.name == parameter.name), "")
        if annotated and number is not None:
            there = frame.hop(base.path, number, frame.at)
            line = values.index.outlines[base.path].functions[number].header_line
            value = from_annotation(values, annotated, there, parameter.name, line)
            return value if value.kind == "tensor" else UNKNOWN
    return UNKNOWN
