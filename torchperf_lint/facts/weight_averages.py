"""Moving averages of a model's weights: whoever trains the model updates them after each step.

class EMA(nn.Module):
    def update(self):
        decay = min(self.decay, (1 + self.steps.item()) / (10 + self.steps.item()))
        for average, weight in zip(self.average.parameters(), self.model.parameters()):
            average.lerp_(weight, 1 - decay)
"""

from __future__ import annotations

from torchperf_lint.facts.index import FunctionKey, Index, Thing
from torchperf_lint.facts.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_AVERAGES = pattern(r"EMA(?=[A-Z_\d]|$)|(?:^|[a-z_])Ema(?=[A-Z_\d]|$)|Moving_?Av(?:era)?g|Averaged?(?:Model|Weight)")
_NOT_OF_WEIGHTS = pattern(r"Meter|Metric|Loss|Tracker|Sched|Callback|Hook|Config|Args|Codebook|Normali[sz]")
_UPDATES = pattern(
    r"^_?(?:ema_)?(?:update|step)$|^_?update_(?:parameters|params|weights|model|ema(?:_model)?|(?:moving_)?average)$"
    r"|^avg_(?:fn|func)$|^after_(?:optimizer_)?step$"
)
_ROLE = Role(
    "update",
    "updates a moving average of weights, as is done after every training step",
    "every training step",
    Confidence.LIKELY,
)


def averaging_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method that updates such an average, or None."""
    function = index.function(key)
    if function.class_index < 0 or not _UPDATES.search(function.name):
        return None
    names = index.class_names(Thing("class", key.path, function.class_index))
    averages = any(map(_AVERAGES.search, names)) and not any(map(_NOT_OF_WEIGHTS.search, names))
    return _ROLE if averages and index.outlines[key.path].imports_from("torch") else None
