"""Methods called `backward` that make the loss of a step themselves: they weigh several losses against each other.

    def backward(self, losses, **kwargs):
        weights = softmax(self.scale)
        (weights * losses).sum().backward()

Those of a graph, which get a `ctx`, and those that pass on the one loss they are given, are parts of somebody's step.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_SEVERAL = pattern(r"(?:^|_)(?:losses|loss_list|task_losses)$")
_COMBINES = Role(
    "step",
    "computes the gradients of the losses that it is given: a training loop calls it every step",
    "every training step",
    Confidence.LIKELY,
)


def combines_losses(index: Index, key: FunctionKey) -> Role | None:
    """The role of a `backward` that is given several losses, or None."""
    function = index.function(key)
    given = [parameter.name for parameter in function.parameters]
    return _COMBINES if not _is_of_a_graph(index, key) and any(map(_SEVERAL.search, given)) else None


def passes_on(index: Index, key: FunctionKey, action: Call) -> bool:
    """Whether a `backward` is a step of a graph, or calls that of what it is given or keeps."""
    given = {parameter.name for parameter in index.function(key).parameters} | {"self"}
    return _is_of_a_graph(index, key) or action.callee.partition(".")[0] in given


def _is_of_a_graph(index: Index, key: FunctionKey) -> bool:
    function = index.function(key)
    if function.class_index < 0 or any(parameter.name == "ctx" for parameter in function.parameters):
        return True
    return "torch.autograd.Function" in index.external_bases(Thing("class", key.path, function.class_index))
