"""How often what a run saw happens: per training step, or per turn of evaluation."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Finding
from torchperf_lint.recorded import Event

STEP, EVALUATION = "step", "evaluation batch"
_KINDS = ("sync", "copy", "collective", "empty-cache", "data-parallel")
_ALIKE = 2.0
"""What comes before the first step belongs to it where it is at most so many times what each of the others has."""


def per_step(event: Event, run: Evidence) -> float | None:
    """How often it happens in a training step; None where it happens in none, or may come from before the first."""
    if not event.train_turns or not run.steps or _is_set_up(event, run):
        return None
    trained = event.trained if event.trained is not None else _shared(event, event.train_turns)
    # A rollout before the first step is as long as those between the others; a buffer's filling is longer.
    of_the_first = event.before if event.before <= _ALIKE * trained / max(run.steps - 1, 1) else 0
    return (trained + of_the_first) / run.steps


def _is_set_up(event: Event, run: Evidence) -> bool:
    """Whether it came in the first step alone, where no loader tells that step from what was done before it."""
    alone = event.first_step == event.over_steps == event.train_steps == 1
    return alone and not run.train_batches and not run.every_step([event])


def per_eval_batch(event: Event, run: Evidence) -> float | None:
    """How often it happens in a turn of evaluation (`eval_unit`); None where it happens in none."""
    if not event.eval_turns or not run.eval_total:
        return None
    evaluated = event.evaluated if event.evaluated is not None else _shared(event, event.eval_turns)
    return evaluated / run.evaluated_in(event)


def _shared(event: Event, turns: int) -> float:
    """Of records that do not say how much came in which: by turns."""
    return event.count * turns / (event.train_turns + event.eval_turns)


def rate_of(events: Iterable[Event], run: Evidence, first: str = STEP) -> tuple[float, str] | None:
    """How often what happens at one place, or at places that belong together, does, and in what: a step, else an
    evaluation batch, or the other way round; None where nobody counted. A blocking copy is both a copy and a
    synchronisation, and counts once.
    """
    chosen = tuple(events)
    for unit, per in ((STEP, per_step), (EVALUATION, per_eval_batch))[:: 1 if first == STEP else -1]:
        each = [_sum([event for event in chosen if event.kind == kind], run, per) for kind in _KINDS]
        times = max((count for count in each if count is not None), default=None)
        if times is not None:
            return times, unit
    return None


def times_of(finding: Finding, run: Evidence) -> tuple[float, str] | None:
    """The same of what a finding claims: of the events that its verdict rests on, where it rests on some.

    Else of what happens at its place and at those of its file that belong to it; None where nothing happens at its own
    place: the others may be mentioned for another reason.
    """
    verdict = finding.verdict
    if verdict is not None and verdict.times is not None:
        return verdict.times, verdict.times_per or STEP
    if not run.at(finding.location, *_KINDS):
        return None
    related = (one.location for one in finding.related if one.location.path == finding.location.path)
    seen = {id(event): event for place in (finding.location, *related) for event in run.at(place, *_KINDS)}
    return rate_of(seen.values(), run)


def _sum(events: Iterable[Event], run: Evidence, per: Callable[[Event, Evidence], float | None]) -> float | None:
    counts = [count for count in (per(event, run) for event in events) if count is not None]
    return sum(counts) if counts else None
