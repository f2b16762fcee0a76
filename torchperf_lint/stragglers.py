"""Which rank is late to meet the others, in which phase, by how much, and whether it is always the same. Torch-free.

Compared is what each rank does alone in a step, from its own clock: nothing compares the clocks of two machines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from torchperf_lint.bounds import DEFAULT
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Rank, Spread

PHASES = ("data", "forward", "after the step")
FEWEST_STEPS = 20
"""A median of fewer steps says little."""
_SAME_STEPS = 0.95
"""A rank that was killed has written its last steps up to a second before."""
_LEVEL = 1.25
"""Step times of ranks that wait for each other in every step agree: beyond this ratio they do not."""
_MOSTLY = 2 / 3
"""Of the steps in which some rank was late, the share in which one that is late in general was."""


@dataclass(frozen=True)
class Late:
    """One rank against the others, in medians over steps."""

    rank: Rank
    by_ms: float
    """Per step, against the median of the others."""
    phase: str
    """Where the most of it comes from."""
    phase_ms: float
    others_ms: float
    """In that phase: the median of the others."""


@dataclass(frozen=True)
class Turns:
    """Single steps that all ranks kept, and who was late in them."""

    steps: int
    late: Mapping[int, int]
    """Index among the ranks -> in how many of the steps it was late, by a share of the step worth naming."""
    by_ms: float | None
    """Median over the steps in which some rank was late: its time alone less the median of the others'."""
    phase: str | None
    """Where the most of that comes from."""

    @property
    def late_steps(self) -> int:
        """In how many some rank was late."""
        return sum(self.late.values())


def comparable(ranks: Sequence[Rank]) -> bool:
    """Whether these processes trained together, step by step."""
    if len(ranks) < 2 or any((rank.group or 0) < 2 or rank.step_ms is None or not rank.alone_ms for rank in ranks):
        return False
    steps = [rank.steps for rank in ranks]
    paces = [rank.step_ms for rank in ranks if rank.step_ms is not None]
    medians = [pace.median for pace in paces]
    long_enough = min(pace.count for pace in paces) >= FEWEST_STEPS
    together = min(steps) >= _SAME_STEPS * max(steps) and max(medians) <= _LEVEL * min(medians)
    return long_enough and together


def worth_naming(step_ms: Spread | None) -> float:
    """How late is late, in ms: what is less is not worth a word."""
    return max(DEFAULT.named * (step_ms.median if step_ms is not None else 0.0), DEFAULT.least_ms)


def straggler(ranks: Sequence[Rank], step_ms: Spread | None) -> Late | None:
    """The rank that is late in general, where ranks can be compared and it is worth a word; None where none is."""
    late = latest(ranks) if comparable(ranks) else None
    least = worth_naming(step_ms)
    if late is None or late.by_ms < least or not _mostly(ranks.index(late.rank), _turns(ranks, least)):
        return None
    return late


def _mostly(index: int, found: Turns | None) -> bool:
    """Whether single steps, where they were kept, agree: of ranks that are late by turns each may have any median."""
    return found is None or found.late.get(index, 0) >= _MOSTLY * found.late_steps


def latest(ranks: Sequence[Rank]) -> Late | None:
    """The rank that does most alone; None where nothing tells in what."""
    late = max(ranks, key=alone)
    others = [rank for rank in ranks if rank is not late]
    gains = {phase: late.alone_ms[phase] - _middle(others, phase) for phase in PHASES if phase in late.alone_ms}
    if not gains:
        return None
    phase = max(gains, key=lambda phase: gains[phase])
    by = alone(late) - _median([alone(rank) for rank in others])
    return Late(late, by, phase, late.alone_ms[phase], _middle(others, phase))


def turns(run: Evidence) -> Turns | None:
    """Who was late step by step; None where too few of the same steps were kept on all ranks."""
    return _turns(run.ranks, worth_naming(run.step_ms))


def _turns(ranks: Sequence[Rank], least: float) -> Turns | None:
    if not ranks or any(not rank.single_steps for rank in ranks):
        return None
    common = sorted(set.intersection(*(set(rank.single_steps) for rank in ranks)))
    if len(ranks) < 2 or len(common) < FEWEST_STEPS:
        return None
    late: dict[int, int] = {}
    behind: list[float] = []
    gains = dict.fromkeys(PHASES, 0.0)
    for step in common:
        spent = [sum(rank.single_steps[step].get(phase, 0.0) for phase in PHASES) for rank in ranks]
        last = max(range(len(ranks)), key=lambda index: spent[index])
        by = spent[last] - _median(_without(spent, last))
        if by < least:
            continue
        late[last] = late.get(last, 0) + 1
        behind.append(by)
        for phase in PHASES:
            each = [rank.single_steps[step].get(phase, 0.0) for rank in ranks]
            gains[phase] += each[last] - _median(_without(each, last))
    most = max(gains, key=lambda phase: gains[phase]) if behind else None
    return Turns(len(common), late, _median(behind) if behind else None, most)


def alone(rank: Rank) -> float:
    """What it does before it meets the others, in ms per step."""
    return sum(rank.alone_ms.values())


def together(ranks: Iterable[Rank]) -> float | None:
    """Median over ranks of the time in backward and in collectives, in ms per step; None where one has no figure."""
    ms = [sum(rank.together_ms.values()) if rank.together_ms else None for rank in ranks]
    known = [one for one in ms if one is not None]
    return _median(known) if known and len(known) == len(ms) else None


def named(rank: Rank) -> str:
    """`rank 1`, or the process by its id where it has no number; and its node, where there are several."""
    name = f"rank {rank.rank}" if rank.rank is not None else f"process {rank.pid}"
    return f"{name} (node {rank.node})" if rank.node is not None else name


def _middle(ranks: Sequence[Rank], phase: str) -> float:
    return _median([rank.alone_ms.get(phase, 0.0) for rank in ranks])


def _without(values: Sequence[float], index: int) -> list[float]:
    return [value for number, value in enumerate(values) if number != index]


def late_phases(run: Evidence) -> dict[int, str]:
    """Index of the rank that is late in general -> the phase it is late in; empty where none is."""
    late = straggler(run.ranks, run.step_ms)
    return {run.ranks.index(late.rank): late.phase} if late is not None else {}


def _median(values: Sequence[float]) -> float:
    from statistics import median  # brings decimals and random numbers with it, for nothing where no run is judged

    return median(values)
