"""Metrics that are asked once an epoch, of all samples at once, and those that are made for them alone.

    class SamplingMetrics(nn.Module):
        def __init__(self, sizes):
            self.sizes = SizeMetric(sizes)
        def forward(self, samples, name, current_epoch):      # told the epoch, and computes at once
            self.sizes(samples)
            wandb.log({"sizes": self.sizes.compute()})

A metric that steps feed is computed later; what an epoch's number is given to, and computes in the same pass, has all.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_EPOCH = pattern(r"^(?:current_|cur_)?epoch(?:_num(?:ber)?|_idx|_index)?$")
_COMPUTES = "compute"


def is_asked_at_epochs(index: Index, cls: Thing) -> bool:
    """Whether a class's own pass is told the epoch, and computes what its metrics have gathered."""
    number = index.record(cls).methods.get("forward")
    if number is None:
        return False
    key = FunctionKey(cls.path, number)
    if not any(_EPOCH.match(parameter.name) for parameter in index.function(key).parameters):
        return False
    return any(_is_part(call.callee) for call in index.calls_in(key))


def is_made_for_such(index: Index, cls: Thing) -> bool:
    """Whether all objects of a class are made by the constructors of such classes."""
    classes = index.outlines[cls.path].classes
    if not any(is_asked_at_epochs(index, Thing("class", cls.path, number)) for number in range(len(classes))):
        return False
    name = index.record(cls).name
    makers = [
        FunctionKey(path, call.function)
        for path, outline in index.outlines.items()
        for call in outline.calls
        if last_part(call.callee) == name
    ]
    return bool(makers) and all(_builds_one(index, key) for key in makers)


def _is_part(callee: str) -> bool:
    """`self.sizes.compute`."""
    return callee.startswith("self.") and callee.count(".") > 1 and last_part(callee) == _COMPUTES


def _builds_one(index: Index, key: FunctionKey) -> bool:
    owner = index.class_of(key.path, key.index)
    return owner is not None and index.function(key).name == "__init__" and is_asked_at_epochs(index, owner)
