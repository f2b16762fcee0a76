"""What a thread computes from the end of one call of a model to the beginning of its next. Torch-free.

CPU time tells preparing a request from waiting for one. Where the host stands still for the device it may spin, so that
time is taken out. What a model does between calls of its own parts (`generate`, `encode`) is the model's.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.events import Record

if TYPE_CHECKING:
    from torchperf_lint.runtime.sites import Key

CpuClock = Callable[[], float]
_MOST = 40


def thread_clock() -> CpuClock | None:
    """CPU seconds of the thread that asks; None where the system does not count them."""
    return getattr(time, "thread_time", None)


class Left(NamedTuple):
    """The end of a call on one thread."""

    at: float
    """Seconds on the timeline's clock."""
    cpu: float
    """CPU seconds of the thread."""
    key: Key | None


class BetweenCalls:
    """Stretches between calls, by the lines they lie between; one per process."""

    def __init__(self) -> None:
        self._rows: dict[tuple[Key | None, Key | None], list[float]] = {}
        self._within = 0.0

    def add(self, left: Left, key: Key | None, at: float, cpu: float, stood: float) -> None:
        """A call begins at `at`, `cpu` on its thread, which stood still for the device for `stood` s since `left`."""
        places = (left.key, key)
        if places not in self._rows and len(self._rows) >= _MOST:
            places = (None, None)
        row = self._rows.setdefault(places, [0.0, 0.0, 0])
        row[0] += max(at - left.at, 0.0)
        row[1] += max(cpu - left.cpu - stood, 0.0)
        row[2] += 1

    def add_within(self, seconds: float) -> None:
        """The model itself called the next of its parts, so long after the last."""
        self._within += max(seconds, 0.0)

    def record(self, site: Callable[[Key | None], int | None]) -> Record:
        """As the events file has it, ms; the longest first."""
        rows = sorted(self._rows.items(), key=lambda item: -item[1][1])
        return {
            "within_ms": round(self._within * 1000, 3),
            "rows": [
                [site(start), site(end), round(wall * 1000, 3), round(cpu * 1000, 3), times]
                for (start, end), (wall, cpu, times) in rows
            ],
        }
