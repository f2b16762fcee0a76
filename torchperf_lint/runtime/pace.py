"""What one process does in each step, for a comparison with the others: alone, and where it meets them.

Torch-free, driven by the timeline. Step times do not tell ranks apart: the collectives make them the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.events import Record
from torchperf_lint.runtime import phases
from torchperf_lint.runtime.histograms import keep

ALONE = ("data", "forward", "after the step")
"""What a process does by itself in a step. What its collectives took is not in it."""
BACKWARD, MET = "backward", "collectives"
"""Where it meets the others: DistributedDataParallel exchanges gradients in the backward pass, out of our sight; what
Python calls collectives stands in `collectives`, wherever it was called."""
PHASES = (*ALONE, BACKWARD, MET)
BY_MARK = {
    phases.FETCHED: "data",
    phases.BACKWARD: "forward",
    phases.FETCH: "after the step",
    phases.CALL: "after the step",
    phases.BACKWARDED: BACKWARD,
}
"""Phases by the mark that ends them. Collectives run in backward passes and optimizers, where each process waits for
the latest, so step times do not tell ranks apart and these do."""
_MOST_STEPS = 128
"""Single steps that are kept; beyond so many every second is left out, on all ranks the same ones."""


class Pace:
    """One per process that trains with others; every time is in seconds until it is written."""

    def __init__(self) -> None:
        self._now = dict.fromkeys(PHASES, 0.0)
        self._by_phase: dict[str, dict[int, int]] = {name: {} for name in PHASES}
        self._met = 0.0
        self._stride = 1
        self._kept = 0
        self._rows: list[list[float]] = []

    def meets(self, seconds: float) -> None:
        """A collective took so long; it is no part of the stretch of time that it falls into."""
        self._met += seconds

    def passes(self, phase: str | None, seconds: float) -> None:
        """A stretch between two marks has ended; None where its phase is not compared."""
        if self._met:
            met, self._met = min(self._met, seconds), 0.0
            self._now[MET] += met
            seconds -= met
        if phase is not None:
            self._now[phase] += seconds

    def skips(self) -> None:
        """What has passed so far belongs to no step that counts."""
        self._met = 0.0

    def starts_over(self) -> None:
        """The step under way does not count: a profiler was on."""
        self._met = 0.0
        self._now = dict.fromkeys(PHASES, 0.0)

    def closes(self, step: int) -> None:
        """A step has ended; the number of it is the same on all ranks that started together."""
        for name, seconds in self._now.items():
            keep(self._by_phase[name], seconds)
        if step % self._stride == 0:
            self._rows.append([step, *(round(seconds * 1000, 3) for seconds in self._now.values())])
            self._kept += 1
        if self._kept >= _MOST_STEPS:
            self._stride, self._kept = 2 * self._stride, self._kept // 2
        self._now = dict.fromkeys(PHASES, 0.0)

    def histograms(self, *phases: str) -> dict[str, list[tuple[int, int]]]:
        """Phase -> (bucket, steps), of those that were kept."""
        return {name: sorted(self._by_phase[name].items()) for name in phases if self._by_phase[name]}

    def records(self) -> Iterator[Record]:
        """`pace`, with the steps since it was last written."""
        rows, self._rows = self._rows, []
        if rows:
            yield {"record": "pace", "phases": list(PHASES), "steps": rows}
