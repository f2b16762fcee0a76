"""Functions that clip gradients for a step that somebody else takes: they run before each `optimizer.step()`."""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "unscale_"})
_BY_NAME = pattern(
    r"^_?(?:\w+_)?clip_(?:\w+_)?grad(?:ient)?s?(?:_|$)|"
    r"^_?(?:get|compute|calc|calculate)_(?:total_|global_|model_)?grad(?:ient)?_norms?_?$"
)
"""Functions that clip gradients, or measure them, themselves: `clip_grad_value_by_rms`, `get_grad_norm`."""
_OF_PARAMETERS = pattern(r"(?:^|_)(?:param(?:eter)?s?|grad(?:ient)?s?|model|net|module|tensors)$")
_TRAINS = frozenset({"backward", "step", "zero_grad", "manual_backward"})
"""What a function does that takes the step itself, in a loop of its own perhaps: that says how often what runs."""


def clipping_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a function that nothing in the project calls and that clips gradients; None for all others."""
    name = index.function(key).name
    if WHOLE_RUN_NAME.search(name) or NOT_TRAINING_NAME.search(name):
        return None
    own = index.calls_in(key)
    given = index.function(key).parameters[index.function(key).bound :]
    if _BY_NAME.search(name) and given and _OF_PARAMETERS.search(given[0].name):
        return Role("update", _NAMED, "every optimizer step", Confidence.LIKELY)
    clips = next((call for call in own if last_part(call.callee) in _CLIPS), None)
    if clips is None or any(last_part(call.callee) in _TRAINS for call in own):
        return None
    because = (
        f"clips gradients, `{clips.callee}()` (line {clips.line}), as is done before each step of an optimizer, "
        "and no call of it is seen in the project: a training loop elsewhere does"
    )
    return Role("update", because, "every optimizer step", Confidence.LIKELY)


_NAMED = (
    "clips or measures gradients by its name, as is done before each step of an optimizer, and nothing in the project "
    "calls it: a training loop elsewhere does"
)
