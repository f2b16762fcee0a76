"""Meters of a project that nothing in it calls yet: how often they run is in doubt, what their users pay is not.

    class MetricLogger:
        def update(self, **kwargs):                   # that users pass tensors is why it asks
            for k, v in kwargs.items():
                if isinstance(v, torch.Tensor):
                    v = v.item()

Whoever takes such a meter up calls `update` in each step. One that the project calls gets what the calls pass.
"""

from __future__ import annotations

from dataclasses import replace

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.hotness.unmentioned import NO_PROGRAM
from torchperf_lint.facts.reads.reads import Reading
from torchperf_lint.facts.roles.meters import is_meter
from torchperf_lint.model import Confidence


def as_users_pay(file: SourceFile, reading: Reading) -> Reading:
    """The reading as sure as its claim, where a meter that nobody calls reads each tensor that it is handed."""
    site, read = reading.site, reading.read
    doubted = Confidence.POSSIBLE in (read.value.confidence, read.hot.confidence)
    if not doubted or read.hot.kind != "update" or read.hot.optional or not _is_left(file, site.function):
        return reading
    body = file.project.body(file.path)
    if body is None or not _asks(body, site.function, reading):
        return reading
    value = read.value._replace(confidence=Confidence.LIKELY)
    hot = file.project.hotness.unmentioned.whoever_runs_it(read.hot, FunctionKey(file.path, site.function))
    if file.project.hotness.is_left(file.path, site.start):
        hot = replace(hot, because=hot.because + NO_PROGRAM)
    return reading._replace(read=read._replace(value=value, hot=hot))


def _is_left(file: SourceFile, function: int) -> bool:
    """Whether a function is the `update` of a meter, which no call in sight is one of."""
    record = file.outline.functions[function]
    if record.name != "update" or record.class_index < 0:
        return False
    called = file.project.hotness.callers.get(FunctionKey(file.path, function), ())
    return not called and is_meter(file.project.index, Thing("class", file.path, record.class_index))


def _asks(body: Body, function: int, reading: Reading) -> bool:
    """Whether a test shows what is read to be a tensor, so that tensors are expected."""
    name = getattr(reading.operand, "id", "")
    tested = body.narrowing(function, name, reading.site.start) if name else None
    return tested is not None and tested.holds and "Tensor" in tested.classes
