"""Loops of off-policy learners over a replay buffer: `batch = buffer.sample(n)`, then `agent.train(batch)`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.patterns import pattern

_DRAWS = pattern(
    r"(?:^|\.)(?:\w*(?:buffer|memory|replay)\w*|rb)\.(?:sample(?:_\w+)?|(?:get|next|random)_batch)$", re.IGNORECASE
)
_TRAINS = pattern(
    r"^(?:\w+\.)*\w*(?:agent|trainer|learner|policy|algo\w*|sac|td3|ddpg|dqn|cql|iql|bc)\w*"
    r"\.(?:train|update|learn|optimi[sz]e)(?:_step|_batch|_on_batch|_parameters|_networks?)?$",
    re.IGNORECASE,
)


def draws_and_trains(calls: Sequence[Call]) -> tuple[Call, Call] | None:
    """The call that draws a batch among those of one turn, and the call behind it that trains on it, by their names."""
    switched = {c.callee.removesuffix(".eval") for c in calls if c.callee.endswith(".eval")}
    for drawn in calls:
        if _DRAWS.search(drawn.callee):
            behind = (c for c in calls if c.line > drawn.line and _trains(c, switched))
            trained = next(behind, None)
            return (drawn, trained) if trained is not None else None
    return None


def _trains(call: Call, switched: set[str]) -> bool:
    """Whether a call trains; `policy.train()` only switches the mode of a module."""
    owner, _, name = call.callee.rpartition(".")
    mode = name == "train" and (owner in switched or owner.endswith("policy"))
    return not mode and _TRAINS.search(call.callee) is not None
