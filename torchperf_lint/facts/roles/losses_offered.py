"""Losses that a library computes in methods which nobody in it calls: who uses the library does so in every step.

    def lane_loss(states: Tensor, lanes: Tensor) -> Tensor: ...

    class Simulator:
        def compute_wrong_way(self):                     # for who trains in the simulator
            return lane_loss(self.states, self.lanes)

By its name, and by the tensors that it takes and gives. Where a program gets to it, that says how often it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.roles.called_objects import LOSS
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME, is_cold
from torchperf_lint.facts.roles.framework_hooks import without_grad
from torchperf_lint.facts.roles.operations import annotated_operation, runs_once
from torchperf_lint.facts.roles.role import EACH_LOSS, Role
from torchperf_lint.facts.roles.roles import is_loss_by_name

_OFFERED = LOSS._replace(
    because="computes a loss of tensors, for functions that nothing in the project calls: who uses them does so in "
    "every step",
    when=EACH_LOSS,
)
_MAX_CALLERS = 40
"""Functions around a loss that are looked at; with more of them it is hard to tell who runs it."""

Callers = Mapping[FunctionKey, Sequence[CallSite]]


def offered_loss(index: Index, key: FunctionKey, callers: Callers) -> Role | None:
    """The role of a loss that no program of the project gets to, through whatever functions; else None."""
    function = index.function(key)
    plain = function.class_index < 0 and function.parent == 0
    if not plain or not is_loss_by_name(function.name) or without_grad(function):
        return None
    if not index.outlines[key.path].imports_from("torch") or annotated_operation(index, key) is None:
        return None
    return _OFFERED if _all_offered(index, key, callers) else None


def _all_offered(index: Index, key: FunctionKey, callers: Callers) -> bool:
    """Whether all functions around a loss may be called by who uses the library, and no script calls any of them."""
    seen, stack = {key}, [key]
    while stack:
        for site in callers.get(stack.pop(), ()):
            around = FunctionKey(site.path, site.call.function)
            if around in seen:
                continue
            if around.index == 0 or len(seen) > _MAX_CALLERS or _runs_seldom(index, around):
                return False
            seen.add(around)
            stack.append(around)
    return True


def _runs_seldom(index: Index, key: FunctionKey) -> bool:
    name = index.function(key).name
    named = NOT_TRAINING_NAME.search(name) or WHOLE_RUN_NAME.search(name) or runs_once(name)
    return bool(named) or is_cold(index, key)
