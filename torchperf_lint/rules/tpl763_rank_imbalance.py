"""TPL763."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Rank
from torchperf_lint.rule import RunRule
from torchperf_lint.stragglers import Late, alone, named, straggler, together, turns


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
    The median per step of host time in data, forward and after the step, from each rank's own record, without what
    collectives took there; and how often the same rank was the late one, from single steps. The step time itself
    tells nothing: the collectives make it the same on all ranks. Silent where ranks left no figures, did not train in
    one process group, made different numbers of steps, or kept no common pace. A rank that is late now and then, or
    another one in every step, is TPL914's.

    ## References
    - PyTorch documentation, DistributedDataParallel: internal design.
    - Holistic Trace Analysis: comparison of ranks.
    """

    code, name, since = "TPL763", "rank-imbalance", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, for the latest rank, where it is late by a share of the step worth naming."""
        step_ms = run.step_ms.median if run.step_ms is not None else 0.0
        late = straggler(run.ranks, run.step_ms)
        if run.simulated or not step_ms or late is None:
            return
        said = [_figures(late), _how_often(run, late), _meeting(run, late), _each(run.ranks), _caution(run)]
        yield Bound(
            self.code,
            self.name,
            f"{named(late.rank)} is late by {ms(late.by_ms)} a step, {percent(late.by_ms / step_ms)} of the step's "
            f"time, and the other ranks wait for it",
            "; ".join(filter(None, said)),
            _ADVICE[late.phase],
            min(late.by_ms / step_ms, 1.0),
        )


_ADVICE = {
    "data": "see what this rank's loader does that the others' do not: longer samples, slower storage, fewer cores",
    "forward": "balance what the ranks compute: batches of the same cost (a sampler by length), the same devices",
    "after the step": "move what only this rank does (logging, saving, evaluation) off the step, or do it rarely",
}
_DOES = {
    "data": "it waits for its data longer: ",
    "forward": "it takes longer between its batch and the backward pass: ",
    "after the step": "it does more once it has stepped: ",
}


def _figures(late: Late) -> str:
    times = f"{late.phase} takes {ms(late.phase_ms)} there and {ms(late.others_ms)} on the others (medians over steps)"
    return f"{_DOES[late.phase]}{times}"


def _how_often(run: Evidence, late: Late) -> str:
    found = turns(run)
    if found is None:
        return ""
    own = found.late.get(run.ranks.index(late.rank), 0)
    return f"it was the late one in {own} of {found.steps} steps compared one by one"


def _meeting(run: Evidence, late: Late) -> str:
    """What the others pay, measured where they wait."""
    there, others = together([late.rank]), together([rank for rank in run.ranks if rank is not late.rank])
    if there is None or others is None:
        return ""
    return f"backward and collectives, where they meet, take {ms(there)} there and {ms(others)} on the others"


_MOST_NAMED = 8


def _each(ranks: tuple[Rank, ...]) -> str:
    slowest = sorted(ranks, key=lambda rank: -alone(rank))[:_MOST_NAMED]
    each = ", ".join(f"{named(rank)} {ms(alone(rank))}" for rank in slowest)
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
