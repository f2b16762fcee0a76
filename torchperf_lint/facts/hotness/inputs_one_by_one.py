"""Loops that go through frames or files and hand each to what computes without gradients, two calls on.

    for i in range(len(reader.frames)):                  class Tracker:
        pose = tracker.track(reader.read(i))                 def track(self, frame):
                                                                 return self.refiner.predict(frame)
    class Refiner:
        @torch.inference_mode()
        def predict(self, frame): ...

Who switches gradients off for one input runs a network on it; so each turn does, though nothing in the loop says so.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loop import EVERY_INPUT, Loop
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import COLD_NAME
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_COUNTED = pattern(r" in (?:\w+\()?range\((?:\d+, )?len\((?P<over>[\w.]+)\)")
STREAMED = pattern(
    r"^(?!(?:.*[._])?(?:val|valid|validation|eval|test|calib\w*)_).*"
    r"(?:^|[._])(?:frames|images|imgs|clips|crops|chunks|files|paths|"
    r"wavs|audios|videos|file_?(?:list|names|paths)|(?:image|img|wav|audio|video)_(?:list|files|paths))$",
    re.IGNORECASE,
)
"""Inputs of which there are many, by their name; of prompts and texts a few are computed once, before training."""
_KEEPS = frozenset(("__init__", "setup", "build"))


def over_inputs(
    index: Index, types: Types, calls: DirectCalls, without_grad: WithoutGrad, path: str, number: int, inputs: str
) -> Loop | None:
    """What the loop region `number` of a file over `inputs`, by their name, is; None where nothing says it computes."""
    region = index.outlines[path].regions[number]
    if not STREAMED.search(inputs):
        return None
    for call in calls.directly_in(path, number):
        for target in types.targets(path, call.function, call.callee):
            run = _computes(index, types, calls, without_grad, call, target)
            if run is not None:
                because = f"goes through `{inputs}` and calls `{call.callee}()` (line {call.line}) for each, {run}"
                return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_INPUT)
    return None


def counted_over(detail: str) -> str:
    """`reader.frames` of `for i in range(len(reader.frames))`; else empty."""
    found = _COUNTED.search(detail)
    return found["over"] if found is not None else ""


def _computes(
    index: Index, types: Types, calls: DirectCalls, without_grad: WithoutGrad, call: Call, target: FunctionKey
) -> str | None:
    """What a function, called by `call`, runs without gradients, itself or by one that it calls, in words."""
    if _is_seldom(index, target):
        return None
    if without_grad.function(target):
        return "which computes without gradients"
    for inner in calls.directly_in(target.path, index.function(target).region):
        for other in types.targets(target.path, inner.function, inner.callee):
            if other != target and without_grad.function(other) and not _is_seldom(index, other):
                return f"which calls `{last_part(inner.callee)}()`, which computes without gradients"
    return None


def _is_seldom(index: Index, key: FunctionKey) -> bool:
    name = index.function(key).name
    return name in _KEEPS or bool(COLD_NAME.search(name))
