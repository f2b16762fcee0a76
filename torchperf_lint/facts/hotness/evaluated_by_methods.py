"""Loops each turn of which calls a method that runs a model of the same object, once and in its own body.

    def validate(self):                              def predict(self, cluster):
        self.model.eval()                                x = self.features[cluster].to(self.device)
        for cluster in self.clusters:                    out = self.model(x)
            self.predict(cluster)                        self.keep(out)

A model in evaluation mode, run in each turn: what the loop goes over may be called anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax.chains import last_part

_ASKS_FOR_GRADIENTS = frozenset({"backward", "grad"})


class RunByMethod(NamedTuple):
    """A call of a method, and the call in that method which runs a model."""

    call: Call
    run: Call
    path: str
    """The file of the method."""
    model: str
    """`self.model`, as the method and whoever calls it write it."""


def runs_by_methods(index: Index, types: Types, calls: DirectCalls, path: str, number: int) -> Iterator[RunByMethod]:
    """The models of its object that the loop region `number` of a file may run through one method each turn."""
    for call in calls.directly_in(path, number):
        if not call.callee.startswith("self.") or call.callee.count(".") != 1:
            continue
        for target in types.targets(path, call.function, call.callee):
            inner = calls.directly_in(target.path, index.function(target).region)
            if any(last_part(other.callee) in _ASKS_FOR_GRADIENTS for other in inner):
                continue
            for run in inner:
                model = run.callee.removesuffix(".forward")
                if model.startswith("self.") and model.count(".") == 1:
                    yield RunByMethod(call, run, target.path, model)
