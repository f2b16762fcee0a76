"""The marks of a loop, and what the time between two of them is called. Torch-free."""

from __future__ import annotations

FETCH, FETCHED = "fetch", "fetched"
ITER, ITERED = "iter", "itered"
BACKWARD, BACKWARDED = "backward", "backwarded"
STEP, STEPPED = "step", "stepped"
ACTED, LEARN = "acted", "learn"
CALL = "call"
"""The first call of a model since an optimizer stepped, where no loader says that a step begins."""
_OWN = {
    FETCHED: "data",
    ITERED: "loader start",
    BACKWARD: "forward",
    BACKWARDED: "backward",
    STEPPED: "optimizer",
    ACTED: "rollout or evaluation",
    LEARN: "rollout or evaluation",
    CALL: "between steps",
}
"""What the time before a mark is called, whatever came before."""
_AFTER = {
    (STEP, BACKWARD): "backward",
    (STEP, BACKWARDED): "gradients",
    (STEP, STEPPED): "between optimizers",
    (STEP, FETCHED): "forward",
    (FETCH, STEPPED): "after the step",
    (FETCH, BACKWARDED): "after backward",
    (FETCH, FETCHED): "no backward",
    (FETCH, ITERED): "loader start",
    (ITER, STEPPED): "after the step",
    (ITER, FETCHED): "no backward",
}
OTHER = "other"
WAIT = "waiting for the device"
COMPILE = "compiling"
ASIDE = (WAIT, COMPILE)
"""What the host's time counts as, whatever it was part of."""


def phase(last: str, name: str) -> str:
    """What the time between two marks is called."""
    if name in ASIDE:
        return name
    return _AFTER.get((name, last)) or _OWN.get(name) or OTHER
