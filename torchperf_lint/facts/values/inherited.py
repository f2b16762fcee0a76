"""What an override is promised: what the method that it overrides says of its parameters."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.values.nominal import from_annotation
from torchperf_lint.facts.values.value import ANYWHERE, UNKNOWN, Frame, Value, tensor
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_DECODING_BASE = pattern(r"^transformers\.(?:\w+\.)*(?:\w*LogitsProcessor|\w*LogitsWarper|StoppingCriteria)$")
_OF_DECODING = frozenset({"input_ids", "scores"})
"""What `generate` gives to processors of logits and to stopping criteria."""
_MOST_BASES = 50
"""How many classes are looked at, the own one first: nobody derives further, but generated code does."""


def promised_to_override(values: Values, function: Function, name: str, frame: Frame) -> Value:
    """The value that a parameter without annotation has by the method that its function overrides."""
    if function.class_index < 0 or function.name == "__init__":
        return UNKNOWN
    own = Thing("class", frame.path, function.class_index)
    for base in islice(values.index.ancestry(own), _MOST_BASES):
        if base.kind == "external":
            if function.name == "__call__" and name in _OF_DECODING and _DECODING_BASE.search(base.dotted):
                return tensor(ANYWHERE, f"`generate` gives `{name}` to each `{base.dotted}`", Confidence.LIKELY)
            continue
        index = values.index.record(base).methods.get(function.name) if base != own else None
        if index is None:
            continue
        overridden = values.index.function(FunctionKey(base.path, index))
        annotation = next((p.annotation for p in overridden.parameters if p.name == name), "")
        if annotation:
            there = frame._replace(path=base.path, function=index)
            return from_annotation(values, annotation, there, name, overridden.header_line)
    return UNKNOWN
