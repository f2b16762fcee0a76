"""How a whole run divides: what stands before its first step, training, and evaluation. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass

from torchperf_lint.amounts import percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Segment

_START = "loader start"
"""The timeline's word for setting up a pass over a loader."""


@dataclass(frozen=True)
class Evaluation:
    """What went to passes over loaders that no backward pass followed, beside a loop that trains."""

    ms: float
    """After the warm-up."""
    whole_ms: float
    """Training, evaluation, and what lies between passes, after the warm-up."""
    passes: int
    """Those that began after the warm-up."""
    segments: tuple[Segment, ...]

    @property
    def share(self) -> float:
        """Of the time after the warm-up; 0 to 1."""
        return self.ms / self.whole_ms

    @property
    def pass_ms(self) -> float:
        """Mean time of a pass."""
        return self.ms / self.passes


def evaluation_of(run: Evidence) -> Evaluation | None:
    """None where no time was measured, nothing trains, or no whole pass of evaluation came after the warm-up."""
    if run.simulated or not run.segments:
        return None
    passes = sum(segment.times for segment in run.eval_segments if segment.phase == _START)
    spent = _ms(run.eval_segments)
    if not passes or not spent:
        return None
    whole = _ms(run.segments) + spent + _ms(run.outside_segments)
    return Evaluation(spent, whole, passes, run.eval_segments)


def loops_ms(run: Evidence) -> float:
    """What training, evaluation and all starts of loaders took, warm-up included as if it were like the rest."""
    train, evaluation = _but_starts(run.segments), _but_starts(run.eval_segments)
    fetches = sum(segment.times for segment in run.eval_segments if segment.phase == "data")
    starts = sum(loader.start_ms for loader in run.loaders if not loader.background)
    warm = train * run.steps / run.steady_steps if run.steady_steps else train
    return warm + (evaluation * max(run.eval_batches / fetches, 1.0) if fetches else evaluation) + starts


def _but_starts(segments: tuple[Segment, ...]) -> float:
    return sum(segment.ms for segment in segments if segment.phase != _START)


def _ms(segments: tuple[Segment, ...]) -> float:
    return sum(segment.ms for segment in segments)


def until_first_step_s(run: Evidence) -> float | None:
    """Seconds from the start of the process to its first step, to about one; None where the record does not tell."""
    first = next((moment.at for moment in run.course if moment.steps), None)
    if run.started is None or first is None or run.in_process or run.simulated:
        return None
    return max(first - run.started, 0.0)


def division_said(run: Evidence) -> str | None:
    """`the run took 112 s: about 19 s until the first step, then training 57 %, evaluation 43 % of the time`.

    None where the record does not tell.
    """
    start, evaluation = until_first_step_s(run), evaluation_of(run)
    if run.wall_s is None or start is None or not run.segments:
        return None
    until = f"the run took {_seconds(run.wall_s)}: about {_seconds(start)} until the first step"
    if evaluation is None:
        return until
    train = percent(_ms(run.segments) / evaluation.whole_ms)
    return f"{until}, then training {train}, evaluation {percent(evaluation.share)} of the time"


def _seconds(seconds: float) -> str:
    """Whole ones: the record says how far the run had come about once a second."""
    return f"{max(round(seconds), 1)} s"
