"""How often what a run saw happens: per training step, or per turn of evaluation."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.evidence import Event, Evidence
from torchperf_lint.model import Finding

STEP, EVALUATION = "step", "evaluation batch"
_KINDS = ("sync", "copy", "collective", "empty-cache", "data-parallel")


def per_step(event: Event, run: Evidence) -> float | None:
    """How often it happens in a training step; None where it happens in none.

    Of what happens in evaluation, too, training gets its share by turns.
    """
    if not event.train_turns or not run.steps:
        return None
    return event.count * event.train_turns / (event.train_turns + event.eval_turns) / run.steps


def per_eval_batch(event: Event, run: Evidence) -> float | None:
    """How often it happens in a turn of evaluation (`eval_unit`); None where it happens in none."""
    if not event.eval_turns or not run.eval_total:
        return None
    return event.count * event.eval_turns / (event.train_turns + event.eval_turns) / run.eval_total


def times_of(finding: Finding, run: Evidence) -> tuple[float, str] | None:
    """How often what the finding claims happens, and in what: a step, else an evaluation batch; None where nobody
    counted. A blocking copy is both a copy and a synchronisation, and counts once.
    """
    for unit, per in ((STEP, per_step), (EVALUATION, per_eval_batch)):
        each = [_sum(run.at(finding.location, kind), run, per) for kind in _KINDS]
        times = max((count for count in each if count is not None), default=None)
        if times is not None:
            return times, unit
    return None


def _sum(events: tuple[Event, ...], run: Evidence, per: Callable[[Event, Evidence], float | None]) -> float | None:
    counts = [count for count in (per(event, run) for event in events) if count is not None]
    return sum(counts) if counts else None
