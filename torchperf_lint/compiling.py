"""What a record says of `torch.compile`: what was compiled, how often again, and where graphs end. Torch-free."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchperf_lint.amounts import ms
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Location
from torchperf_lint.recorded import Event

COMPILE, BREAK = "compile", "graph-break"
"""Kinds of events."""
FIRST, AGAIN, LIMIT, FAILED, BACKWARD = "first", "again", "limit", "failed", "backward"
"""What became of a compilation: the first of a function; another one, as a guard failed; none any more, as there were
too many; none, as the function cannot be compiled; a graph for the backward pass."""
WHOLE = "frame"
"""A break after which a function is not compiled at all."""


@dataclass(frozen=True)
class Recompiled:
    """One guard that failed, and what that cost."""

    function: str
    path: str
    line: int
    """Where the function begins."""
    guard: str | None
    """In Dynamo's words; None where this torch does not say."""
    at: tuple[str, int] | None
    """The line that is guarded."""
    count: int
    steady: int
    """After the warm-up."""
    steady_ms: float
    turns: int = 0
    """In how many training steps."""
    total_ms: float | None = None
    """In the whole run; None where this torch does not say."""

    def told(self) -> str:
        """In words."""
        guarded = f" for `{self.guard}`" if self.guard else ""
        at = f" ({self.at[0]}:{self.at[1]})" if self.at is not None else ""
        return f"`{self.function}` ({self.path}:{self.line}){guarded}{at}"


@dataclass(frozen=True)
class Ending:
    """A place where the graph of compiled code ends."""

    path: str
    line: int
    via: tuple[str, int] | None
    reasons: tuple[str, ...]
    """In Dynamo's words."""
    count: int
    """In how many compilations."""
    whole: bool
    """Whether the function is not compiled at all for it."""
    rest_ms: float | None = None
    """What compiling the rest of the function took, in the whole run; None where nobody timed it."""

    def told(self) -> str:
        """In words."""
        via = f" (from {self.via[0]}:{self.via[1]})" if self.via is not None else ""
        left_out = ", so the function runs uncompiled" if self.whole else ""
        rest = f"; compiling what follows took {ms(self.rest_ms)}" if self.rest_ms is not None else ""
        reasons = "; ".join(reason.rstrip(".") for reason in self.reasons)
        return f"{self.path}:{self.line}{via}: {reasons}{left_out}{rest}"


def compilations(run: Evidence, *whats: str) -> tuple[Event, ...]:
    """Events of compilations: of these outcomes, or of any."""
    return tuple(event for event in run.events if event.kind == COMPILE and (not whats or event.what in whats))


def recompiled(run: Evidence) -> tuple[Recompiled, ...]:
    """By function and guard, the dearest after the warm-up first."""
    found = [_recompiled(event) for event in compilations(run, AGAIN)]
    return tuple(sorted(found, key=lambda r: (-r.steady_ms, -r.count, r.path, r.line, r.guard or "")))


def _recompiled(event: Event) -> Recompiled:
    steady_ms = event.blocked_ms or 0.0
    guard = event.attributes.get("guard")
    counts = event.count, event.steady
    place = event.function, event.path, event.line, guard, guarded(event)
    return Recompiled(*place, *counts, steady_ms, event.train_turns, event.total_ms)


def guarded(event: Event) -> tuple[str, int] | None:
    """The line whose value a failed guard checks."""
    at = event.attributes.get("at")
    return (str(at[0]), int(at[1])) if isinstance(at, (list, tuple)) and len(at) == 2 else None


def endings(run: Evidence) -> tuple[Ending, ...]:
    """The places where graphs end, the most often compiled first."""
    places: dict[tuple[str, int], list[Event]] = {}
    for event in run.events:
        if event.kind == BREAK and event.path:
            places.setdefault((event.path, event.line), []).append(event)
    resumed = [event for event in compilations(run) if event.attributes.get("resumed")]
    found = [_ending(path, line, events, resumed) for (path, line), events in places.items()]
    return tuple(sorted(found, key=lambda e: (-e.count, e.path, e.line)))


def _ending(path: str, line: int, events: list[Event], resumed: list[Event]) -> Ending:
    reasons = dict.fromkeys(reason for event in events if (reason := reason_of(event)))
    via = next((event.via for event in events if event.via is not None), None)
    whole = any(event.what == WHOLE for event in events)
    # What is left of a function begins at the line of the break.
    rest = [e.total_ms for e in resumed if (e.path, e.line) == (path, line) and e.total_ms is not None]
    return Ending(path, line, via, tuple(reasons), sum(e.count for e in events), whole, sum(rest) if rest else None)


def reason_of(event: Event) -> str:
    """Why the graph ends, or the function cannot be compiled: Dynamo's sentence where it explains itself."""
    return str(event.attributes.get("explanation") or event.attributes.get("reason") or "")


def over(events: Iterable[Event], location: Location) -> Iterator[Event]:
    """Compilations of a function whose lines hold those of a place."""
    for event in events:
        last = event.attributes.get("last")
        if event.path == location.path and last is not None and event.line <= location.line <= int(last):
            yield event
