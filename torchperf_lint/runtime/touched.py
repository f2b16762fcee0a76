"""What has been counted of one stretch of a run, until it is known what that stretch is. Torch-free."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter

Touched: TypeAlias = "dict[Counter, list[int]]"
"""Counter -> in how many turns it counted something, how much, and in how many optimizer steps."""


def add(to: Touched, more: Touched) -> None:
    """Count what `more` has in `to`, too."""
    for counter, figures in more.items():
        known = to.setdefault(counter, [0, 0, 0])
        for index, figure in enumerate(figures):
            known[index] += figure
