"""Whether times of two runs can be compared, and which difference between them is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from torchperf_lint.amounts import ms
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.recorded import Spread

FEWEST_STEPS = 20
"""Steps after the warm-up that a median and quartiles need."""
EXACT = 0.02
"""Step times are kept in buckets of 2 %: a smaller difference is none."""


class Change(str, Enum):
    """What became of something."""

    GONE = "gone"
    NEW = "new"
    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    UNKNOWN = "not compared"


def threshold_of(before: Spread, after: Spread) -> float:
    """The wider of both runs' middle halves (between the quartiles), at least 2 % of the longer step; ms."""
    return max(_width(before), _width(after), EXACT * max(before.median, after.median))


def _width(spread: Spread) -> float:
    if spread.lower is None or spread.upper is None:
        return spread.p95 - spread.median
    return spread.upper - spread.lower


@dataclass(frozen=True)
class Scale:
    """What tells a change from none."""

    threshold_ms: float | None
    why_not: str

    def of(self, before_ms: float | None, after_ms: float | None) -> tuple[Change, str]:
        """What became of a time a step, and the words for it."""
        if self.threshold_ms is None:
            return Change.UNKNOWN, self.why_not
        if before_ms is None or after_ms is None:
            return Change.UNKNOWN, "no price was measured"
        less = before_ms - after_ms
        said = f"{ms(before_ms)} a step, then {ms(after_ms)}"
        if abs(less) <= self.threshold_ms:
            return Change.SAME, f"{said}: within the spread of {ms(self.threshold_ms)}"
        return (Change.BETTER if less > 0 else Change.WORSE), said


def incomparable(before: Evidence, after: Evidence) -> str | None:
    """Why times of the two runs say nothing about a change; None where they do."""
    sides = ((before, "before"), (after, "after"))
    for run, when in sides:
        if run.simulated:
            return f"the device {when} is simulated, so no time was measured"
    if before.device != after.device:
        return f"other device: {before.device or 'none'} before, {after.device or 'none'} after"
    for name, one, other in _conditions(before, after):
        if one != other:
            return f"{name}: {one} before, {other} after"
    for run, when in sides:
        if run.step_ms is None:
            return f"no step was timed {when}"
        if run.step_ms.count < FEWEST_STEPS:
            return f"too few steps {when}: {run.step_ms.count} were timed, {FEWEST_STEPS} are needed"
    return None


def _conditions(before: Evidence, after: Evidence) -> Iterator[tuple[str, object, object]]:
    """What makes a step another one."""
    yield "other number of ranks", len(before.ranks), len(after.ranks)
    sizes = _batch_size(before), _batch_size(after)
    if None not in sizes:
        yield "other batch size, so a step does other work", sizes[0], sizes[1]
    cores = machine_of(before.utilisation).cores, machine_of(after.utilisation).cores
    if before.device is None and cores[0] is not None and cores[1] is not None:
        yield "other number of cores allowed, and no device", f"{cores[0]:g}", f"{cores[1]:g}"


def _batch_size(run: Evidence) -> object:
    main = max(run.loaders, key=lambda loader: loader.batches, default=None)
    return main.settings.get("batch_size") if main is not None else None
