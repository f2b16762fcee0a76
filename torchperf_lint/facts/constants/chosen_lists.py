"""Lists that branches choose among: whichever was taken could be kept, while how many numbers or which may vary."""

from __future__ import annotations

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bound_alike import chosen_among
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_SEVERAL = frozenset({"sequence", "array"})
"""What values that hold several numbers are."""


def chooses_lists(values: Values, reaching: list[Definition], frame: Frame) -> bool:
    """Whether all bindings of a name are lists, as far as that is known, and at least one of them is."""
    if not chosen_among(reaching):
        return False
    told = {values.of(d.value, frame.back(d.at)).kind for d in reaching if d.value is not None}
    return bool(told & _SEVERAL) and told <= _SEVERAL | {"unknown"}
