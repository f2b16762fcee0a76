"""Classes that keep a running average of a model's parameters: whoever trains brings it up to date every step."""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

AVERAGED = Role(
    "update", "brings a running average of a model up to date, every training step", "every training step",
    Confidence.LIKELY,
)  # fmt: skip
_AVERAGE = pattern(
    r"(?:^|[a-z_])(?:EMA|Ema)(?![a-z])|(?:^|_)ema(?![a-z])|Moving_?Av(?:era)?g|Averaged?(?:Model|Weight)|PolyakAverage"
)
_NOT_OF_A_MODEL = pattern(r"Meter|Metric|Loss|Tracker|Sched|Callback|Hook|Config|Args|Codebook|Normali[sz]")
_UPDATES = pattern(
    r"^_?(?:ema_)?(?:update|step)$|^_?update_(?:parameters|params|weights|model|ema(?:_model)?|(?:moving_)?average)$"
    r"|^avg_(?:fn|func)$|^after_(?:optimizer_)?step$"
)
_OF_PARAMETERS = frozenset({"parameters", "named_parameters", "state_dict", "buffers", "named_buffers"})


def averages_a_model(index: Index, cls: Thing, name: str) -> bool:
    """Whether a method is the update of such a class: by the names of both, and as it goes through parameters."""
    if not _UPDATES.search(name):
        return False
    names = index.class_names(cls)
    if not any(map(_AVERAGE.search, names)) or any(map(_NOT_OF_A_MODEL.search, names)):
        return False
    if any(base.endswith("AveragedModel") for base in index.record(cls).bases):
        return True
    own = set(index.record(cls).methods.values())
    calls = index.outlines[cls.path].calls
    return any(call.function in own and last_part(call.callee) in _OF_PARAMETERS for call in calls)
