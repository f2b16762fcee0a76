"""What a run that answers computes between two calls of its model, as a part of Evidence. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.spans import Place


@dataclass(frozen=True)
class Stretch:
    """What lies between two calls of a model, by the lines of the calls."""

    start: Place | None
    end: Place | None
    ms: float
    cpu_ms: float
    """CPU time of the thread; it may as well wait, for requests or for a core."""
    times: int
    package: str | None = None
    """The installed package that makes the later call, which the project's line only called."""


@dataclass(frozen=True)
class BetweenCalls:
    """From the end of a thread's call of a model to the beginning of its next, after the warm-up."""

    stretches: tuple[Stretch, ...]
    """The longest in CPU time first."""
    in_calls_ms: float
    """Time in calls, and between those that the model itself makes of its parts."""

    @property
    def cpu_ms(self) -> float:
        """What the threads compute there."""
        return sum(stretch.cpu_ms for stretch in self.stretches)

    @property
    def times(self) -> int:
        """So many stretches."""
        return sum(stretch.times for stretch in self.stretches)

    @property
    def share(self) -> float | None:
        """Its share of what an answer takes, calls and computing between them; None where nothing was measured."""
        whole = self.cpu_ms + self.in_calls_ms
        return self.cpu_ms / whole if self.stretches and whole > 0 else None
