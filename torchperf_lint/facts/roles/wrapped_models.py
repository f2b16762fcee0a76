"""Plain classes around a model: `__call__` prepares what the model is given, and runs it.

    class WrappedModel:
        def __call__(self, x, t, **kwargs):
            return self.model(x, self.steps[t], **kwargs)

Samplers and training loops call such an object where they would call the model: once in every step.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.patterns import pattern

_WRAPS = pattern(r"wrap|denois|guid(?:ed|ance)|cfg|classifier_?free", re.IGNORECASE)
"""What such classes are called; a `Predictor` or a `Pipeline` is called once for each input."""
_GIVEN = 2
"""Parameters that a model of this kind has at least: a sample and its time."""


def wraps_a_model(index: Index, cls: Thing) -> bool:
    """Whether the `__call__` of a class hands on to a model that the object holds, outside any loop or branch."""
    if not _WRAPS.search(index.record(cls).name):
        return False
    key = index.method(cls, "__call__")
    function = index.function(key) if key is not None else None
    if key is None or function is None or len(function.parameters) - function.bound < _GIVEN:
        return False
    calls = (call for call in index.calls_in(key) if call.region == function.region)
    return any(call.callee.startswith("self.") and MODEL_NAME.search(call.callee) for call in calls)
