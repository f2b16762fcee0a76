"""What torch hands to the backward pass of an autograd function: a gradient for each output of its `forward`.

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.saved_tensors[0]
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.records import Function, Parameter
from torchperf_lint.facts.values.value import ANYWHERE, Value, tensor
from torchperf_lint.model import Confidence

_FUNCTION = "torch.autograd.Function"


def given_gradient(index: Index, key: FunctionKey, function: Function, parameter: Parameter) -> Value | None:
    """The gradient that a parameter of such a `backward` is; None for all else, `*grad_outputs` too."""
    if function.name != "backward" or function.class_index < 0 or parameter is function.parameters[0]:
        return None
    if parameter.default or parameter.by_name:
        return None
    if _FUNCTION not in index.external_bases(Thing("class", key.path, function.class_index)):
        return None
    return tensor(ANYWHERE, f"`{parameter.name}` is a gradient, which torch hands to `backward`", Confidence.LIKELY)
