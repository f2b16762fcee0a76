"""TPL914."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import DEFAULT, Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule
from torchperf_lint.stragglers import Turns, comparable, named, straggler, turns, worth_naming

_ONE_RANK = 0.8
"""From this share of the late steps on, they are one rank's."""
_OFTEN = 0.1
"""Of the steps: what is rarer is an evaluation or a checkpoint."""


class RankJitter(RunRule):
    """In many steps some rank is late, but not the same one in every step.

    ## What it does
    Compares single steps of all ranks: which of them came last to where they meet, by how much, and in which phase.
    Speaks where no rank is late in general (TPL763) and yet much time is lost, because the late rank changes, or one
    rank is late now and then.

    ## Why it is slow
    Every step takes as long as the slowest rank's. Where each rank is slow in one step of ten, eight ranks are waited
    for in most steps, though none is slow in its median.

    ## Example
    Batches of very different lengths, drawn by each rank for itself; a loader without workers that reads from busy
    storage; rank 0 that logs every fifth step.

    ## Use instead
    Batches of the same cost in the same step: a sampler that sorts by length and deals neighbours to the ranks; more
    workers or a larger `prefetch_factor`, which even out a loader; logging from a thread.

    ## When it is fine
    Where other work shares the machine, and goes away with it.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Host time alone in data, forward and after the step, in single steps that all ranks kept (128 at most, evenly
    thinned out). A rank is late in a step if it takes longer alone than the median of the others, by a tenth of the
    median step. Silent where the ranks cannot be compared, as TPL763 says.

    ## References
    - PyTorch documentation, DistributedDataParallel: internal design.
    - Dean and Barroso, "The Tail at Scale", Communications of the ACM 56 (2), 2013.
    """

    code, name, since = "TPL914", "rank-jitter", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where late ranks cost a share of the run worth naming and none of them is late in general."""
        step_ms = run.step_ms.median if run.step_ms is not None else 0.0
        if run.simulated or not step_ms or not comparable(run.ranks):
            return
        found = turns(run)
        if found is None or found.by_ms is None or found.phase is None or straggler(run.ranks, run.step_ms):
            return
        lost_ms = found.by_ms * found.late_steps / found.steps
        if found.late_steps < _OFTEN * found.steps or lost_ms < worth_naming(run.step_ms):
            return
        yield Bound(
            self.code,
            self.name,
            f"{_who(run, found)} late in {found.late_steps} of {found.steps} steps compared, by {ms(found.by_ms)} "
            f"(median), and the others wait",
            f"{_each(run, found)}; most of it in {found.phase}; a step takes {ms(step_ms)}, and "
            f"{percent(DEFAULT.named)} of that counts as late; times of each rank alone, from its own clock",
            _ADVICE[found.phase],
            min(lost_ms / step_ms, 1.0),
        )


_ADVICE = {
    "data": "even out the loaders: more workers or a larger `prefetch_factor`; samples of the same cost in one step",
    "forward": "give all ranks batches of the same cost in the same step: a sampler by length that deals neighbours",
    "after the step": "take what is done every so many steps (logging, saving) off the step: a thread, or more rarely",
}


def _who(run: Evidence, found: Turns) -> str:
    index = max(found.late, key=lambda index: found.late[index])
    if found.late[index] >= _ONE_RANK * found.late_steps:
        return f"{named(run.ranks[index])} is now and then late:"
    return "now one rank, now another is late:"


def _each(run: Evidence, found: Turns) -> str:
    late = sorted(found.late.items(), key=lambda item: (-item[1], item[0]))
    return "late were " + ", ".join(f"{named(run.ranks[index])} in {times}" for index, times in late)
