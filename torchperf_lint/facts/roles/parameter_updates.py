"""Functions that update one parameter, as callbacks that an optimizer runs through a list do: `cb(p, lr=..., mom=...)`.

    def trust_ratio(p, lr, wd, eps, **kwargs):          for p, state, hyper in self.all_params():
        norm = p.data.norm()                                for cb in self.cbs:
        ...                                                     cb(p, **state, **hyper)

Nothing in the project calls them by their names; they run for each parameter, in every step of the optimizer.
"""

from __future__ import annotations

import re

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_ONE = pattern(r"^(?:p|param|parameter|weight)$")
_RATE = pattern(r"^(?:lr|local_lr|learning_rate|step_size)$")
_SET_UP = pattern(r"init|group|build|make|create|schedule|split|plot|find", re.IGNORECASE)


def update_role(index: Index, key: FunctionKey) -> Role | None:
    """The role of a plain function that is given one parameter and the rate to change it by; None for all others."""
    function = index.function(key)
    names = [p.name for p in function.parameters]
    if function.class_index >= 0 or function.parent > 0 or len(names) < 2 or not _ONE.match(names[0]):
        return None
    name = function.name
    if any(pattern.search(name) for pattern in (_SET_UP, WHOLE_RUN_NAME, NOT_TRAINING_NAME)):
        return None
    rate = next(filter(_RATE.match, names[1:]), None)
    if rate is None:
        return None
    because = (
        f"is given one parameter, `{names[0]}`, and the rate to change it by, `{rate}`: an optimizer runs it for each "
        "parameter in every step"
    )
    return Role("update", because, "for each parameter of every optimizer step", Confidence.LIKELY)
