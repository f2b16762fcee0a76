"""TPL763."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import DEFAULT, Bound
from torchperf_lint.evidence import Evidence, Rank
from torchperf_lint.rule import RunRule

_FEWEST_STEPS = 20
"""A median of fewer steps says little."""
_SAME_STEPS = 0.95
"""A rank that was killed has written its last steps up to a second before."""
_LEVEL = 1.25
"""Step times of ranks that wait for each other in every step agree: beyond this ratio they do not."""


class RankImbalance(RunRule):
    """One rank reaches the collectives later than the others, and all wait for it.

    ## What it does
    Compares what each rank does by itself in a step, before it meets the others: waiting for data, forward, and what
    follows the step. Names the rank that is late, the phase it is late in, and by how much.

    ## Why it is slow
    Gradients are averaged once every rank has its own. A step takes as long as that of the slowest rank, on all of
    them.

    ## Example
    Four ranks of which rank 0 writes images to a log at every step; or one whose loader gets the long sequences.

    ## Use instead
    Batches of the same cost on every rank (a sampler that balances lengths), the same storage for all, and the work of
    rank 0 moved off the step: every hundredth step, or to a thread.

    ## When it is fine
    Where ranks do different things by design, such as the stages of a pipeline.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The median per step of host time in data, forward and after the step, from each rank's own record. The step time
    itself tells nothing: the collectives make it the same on all ranks. Silent where ranks left no figures, did not
    train in one process group, made different numbers of steps, or kept no common pace.

    ## References
    - PyTorch documentation, DistributedDataParallel: internal design.
    - Holistic Trace Analysis: comparison of ranks.
    """

    code, name, since = "TPL763", "rank-imbalance", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, for the latest rank, where it is late by a share of the step worth naming."""
        step_ms = run.step_ms.median if run.step_ms is not None else 0.0
        if run.simulated or not step_ms or not _comparable(run.ranks):
            return
        late = _latest(run.ranks)
        if late is None or late.by_ms < max(DEFAULT.named * step_ms, DEFAULT.least_ms):
            return
        yield Bound(
            self.code,
            self.name,
            f"{_name(late.rank)} is late by {ms(late.by_ms)} a step, {percent(late.by_ms / step_ms)} of the step's "
            f"time, and the other ranks wait for it",
            "; ".join([_figures(late), _each(run.ranks), _caution(run)]),
            _ADVICE[late.phase],
            min(late.by_ms / step_ms, 1.0),
        )


class _Late(NamedTuple):
    rank: Rank
    by_ms: float
    """Per step, against the median of the others."""
    phase: str
    """Where the most of it comes from."""
    phase_ms: float
    others_ms: float
    """In that phase: the median of the others."""


_ADVICE = {
    "data": "see what this rank's loader does that the others' do not: longer samples, slower storage, fewer cores",
    "forward": "balance what the ranks compute: batches of the same cost (a sampler by length), the same devices",
    "after the step": "move what only this rank does (logging, saving, evaluation) off the step, or do it rarely",
}


def _comparable(ranks: tuple[Rank, ...]) -> bool:
    """Whether these processes trained together, step by step."""
    if len(ranks) < 2 or any((rank.group or 0) < 2 or rank.step_ms is None or not rank.alone_ms for rank in ranks):
        return False
    steps = [rank.steps for rank in ranks]
    paces = [rank.step_ms for rank in ranks if rank.step_ms is not None]
    medians = [pace.median for pace in paces]
    long_enough = min(pace.count for pace in paces) >= _FEWEST_STEPS
    together = min(steps) >= _SAME_STEPS * max(steps) and max(medians) <= _LEVEL * min(medians)
    return long_enough and together


def _latest(ranks: tuple[Rank, ...]) -> _Late | None:
    latest = max(ranks, key=_alone)
    others = [rank for rank in ranks if rank is not latest]
    gains = {phase: latest.alone_ms[phase] - _middle(others, phase) for phase in _ADVICE if phase in latest.alone_ms}
    if not gains:
        return None
    phase = max(gains, key=lambda phase: gains[phase])
    by = _alone(latest) - median([_alone(rank) for rank in others])
    return _Late(latest, by, phase, latest.alone_ms[phase], _middle(others, phase))


def _alone(rank: Rank) -> float:
    return sum(rank.alone_ms.values())


def _middle(ranks: list[Rank], phase: str) -> float:
    return median([rank.alone_ms.get(phase, 0.0) for rank in ranks])


def _name(rank: Rank) -> str:
    return f"rank {rank.rank}" if rank.rank is not None else f"process {rank.pid}"


def _figures(late: _Late) -> str:
    return f"{late.phase} takes {ms(late.phase_ms)} there and {ms(late.others_ms)} on the others (medians over steps)"


_MOST_NAMED = 8


def _each(ranks: tuple[Rank, ...]) -> str:
    slowest = sorted(ranks, key=lambda rank: -_alone(rank))[:_MOST_NAMED]
    each = ", ".join(f"{_name(rank)} {ms(_alone(rank))}" for rank in slowest)
    more = ", ..." if len(ranks) > _MOST_NAMED else ""
    return f"by itself, before it meets the others, in a step: {each}{more}"


def _caution(run: Evidence) -> str:
    """What these figures leave open."""
    said = "step times are leveled by the collectives and were not compared"
    if run.device is not None:
        said += "; host times, so an upper bound where the device still has work queued"
    if run.missing_ranks:
        missing = ", ".join(str(rank) for rank in run.missing_ranks)
        return f"{said}; no record of rank{'s' * (len(run.missing_ranks) > 1)} {missing}, which may be later still"
    group = max((rank.group or 0) for rank in run.ranks)
    if group > len(run.ranks):
        return f"{said}; {group - len(run.ranks)} of the group's {group} ranks left no record here"
    return said
