"""What compiling took of a run, from its first line on: most of it lies in the warm-up, where no share counts it.

Times are what Dynamo says that each compilation took, ms. Torch-free.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torchperf_lint.amounts import ms, percent
from torchperf_lint.compiling import AGAIN, BACKWARD, FAILED, FIRST, LIMIT, Recompiled, compilations, recompiled
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event

_REST = "rest"
_WORDS = {
    FIRST: "of functions for the first time",
    _REST: "of what was left of functions after breaks",
    AGAIN: "again, as a guard failed",
    BACKWARD: "of backward passes",
    FAILED: "that came to nothing",
    LIMIT: "refused at the limit",
}
_MOST_AGAIN = 3


@dataclass(frozen=True)
class Part:
    """Compilations of one kind."""

    what: str
    """"first", "rest" (what is left of a function after a break), "again", "backward", "failed", "limit"."""
    count: int
    ms: float | None
    """None where this torch does not say."""


@dataclass(frozen=True)
class CompileCost:
    """All compilations of a run; of several ranks, each of the one with the most."""

    count: int
    ms: float | None
    share: float | None
    """Of the run's time from start to end; 0 to 1."""
    parts: tuple[Part, ...]
    again: tuple[Recompiled, ...]
    """By function and guard, the dearest first."""


def compile_cost(run: Evidence) -> CompileCost | None:
    """None where nothing was compiled, or where nobody watched."""
    events = compilations(run)
    if not events:
        return None
    spent = _sum(events)
    of_kind = [(what, [event for event in events if _kind(event) == what]) for what in _WORDS]
    parts = tuple(Part(what, sum(e.count for e in found), _sum(found)) for what, found in of_kind if found)
    share = min(spent / (run.wall_s * 1000), 1.0) if spent is not None and run.wall_s else None
    again = sorted(recompiled(run), key=lambda r: (-(r.total_ms or 0.0), -r.count, r.path, r.line, r.guard or ""))
    return CompileCost(sum(event.count for event in events), spent, share, parts, tuple(again))


def cost_said(run: Evidence) -> list[str]:
    """In words: what it took and of what, then what was compiled again and why; nothing where nothing was compiled."""
    cost = compile_cost(run)
    if cost is None:
        return []
    number = f"{cost.count} compilation{'s' * (cost.count != 1)}"
    parts = ", ".join(f"{part.count} {_WORDS[part.what]}{_took(part.ms)}" for part in cost.parts)
    of = (
        f" of the run's {ms(run.wall_s * 1000)} ({percent(cost.share)})"
        if run.wall_s and cost.share is not None
        else ""
    )
    took = f"{ms(cost.ms)}{of}, as Dynamo timed {number}" if cost.ms is not None else f"{number}, of unknown time"
    return [f"{took}: {parts}", *(_again(found, run) for found in cost.again[:_MOST_AGAIN])]


def _again(found: Recompiled, run: Evidence) -> str:
    turns = f" in {found.turns} of {run.steps} steps" if run.steps and found.turns else ""
    times = {1: "once", 2: "twice"}.get(found.count, f"{found.count} times")
    return f"again {times}{turns}{_took(found.total_ms)}: {found.told()}"


def _took(spent: float | None) -> str:
    return f" ({ms(spent)})" if spent is not None else ""


def _kind(event: Event) -> str:
    return _REST if event.what == FIRST and event.attributes.get("resumed") else event.what


def _sum(events: Iterable[Event]) -> float | None:
    known = [event.total_ms for event in events if event.total_ms is not None]
    return sum(known) if known else None
