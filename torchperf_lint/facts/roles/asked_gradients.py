"""Functions that nothing in the project calls and that ask autograd for gradients: what a library of them offers.

An attack takes the gradient of its input, a weighting or a scaler runs `backward` on the losses that it is given:

    def perturb(self, x, y):                                  def backward(self, losses, **kwargs):
        x_adv = x.clone().requires_grad_()                        grads = self.flat_gradients(losses)
        grad = torch.autograd.grad(loss(x_adv, y), x_adv)[0]      ...

Who uses the first does so for every batch, who uses the second in every training step.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.outlines.records import Function
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.facts.roles.operations import no_operation
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_TRUTH = pattern(r"^(?:y|ys|labels?|targets?|y_(?:true|orig|target)|(?:gt|true|target|orig)_labels?)$")
"""Parameters that say what is true of an input, which comes in batches then."""
_LOSSES = pattern(r"^(?:(?:task|multi|all)_)?(?:losses|objectives|loss_(?:list|dict|vector))$")
_BACKWARD = pattern(r"^_?(?:\w+_)?backward(?:_pass)?$")
_INDENT = 4
"""Of the body of a function of the module."""
_STEPS = pattern(r"(?:^|\.)\w*optim\w*\.step$|(?:^|\.)step$")


def gradient_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a function that nothing in the project calls, or None."""
    function = index.function(key)
    if (
        function.parent > 0
        or _is_in_a_block(index, key)
        or no_operation(key, function)
        or NOT_TRAINING_NAME.search(function.name)
    ):
        return None
    given = {p.name for p in function.parameters[function.bound :]}
    if (
        _BACKWARD.search(function.name)
        and any(map(_LOSSES.search, given))
        and index.outlines[key.path].imports_from("torch")
    ):
        return _role(f"runs `backward` on the losses that it is given{_NOT_CALLED} every step", "training step")
    if len(given) < 2 or not any(map(_TRUTH.search, given)):
        return None
    line = _asks(index, key, function)
    if line is None:
        return None
    told = f"computes gradients of the input that it is given (line {line}){_NOT_CALLED} every batch"
    return _role(told, "batch")


_NOT_CALLED = ", and no call of it is seen in the project: who uses it does so for"


def _role(because: str, often: str) -> Role:
    return Role("step", because, f"every {often}", Confidence.LIKELY)


def _is_in_a_block(index: Index, key: FunctionKey) -> bool:
    """Whether a function that is no method stands in a block, as in a demonstration below `if __name__ == ...`."""
    function = index.function(key)
    return function.class_index < 0 and index.outlines[key.path].regions[function.region].start[1] > _INDENT + 1


def _asks(index: Index, key: FunctionKey, function: Function) -> int | None:
    """The first line that asks for gradients, where an input is made to have some and no optimizer uses them."""
    outline = index.outlines[key.path]
    own = index.calls_in(key)
    if any(_STEPS.search(call.callee) for call in own):
        return None
    told = any(last_part(call.callee) == "requires_grad_" for call in own) or any(
        b.function == key.index and b.target.endswith(".requires_grad") for b in outline.bindings
    )
    asked = (c.line for c in own if c.callee.endswith(("autograd.grad", ".backward")) or c.callee == "grad")
    return next(asked, None) if told else None
