"""The steps that a record keeps as they ran: stretches of the host's time and what happened in them. Torch-free.

Times are microseconds from the first mark after the warm-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeGuard

from torchperf_lint.events import RawRun

Place = tuple[str, int]
"""(path, line) of the project's own code, where there is one behind it."""


@dataclass(frozen=True)
class Span:
    """What the training thread did between two marks of the loop."""

    phase: str
    start_us: float
    us: float
    begins: Place | None = None
    ends: Place | None = None


@dataclass(frozen=True)
class Instant:
    """A synchronisation, a copy, or another event that is counted."""

    kind: str
    """As of `Event.kind`."""
    what: str
    at_us: float
    """When it was over."""
    us: float | None = None
    """How long it held the host up; None where nobody took the time."""
    place: Place | None = None


@dataclass(frozen=True)
class Turn:
    """A step (a batch, where nothing trains)."""

    number: int
    """From the start of the run, 1-based."""
    start_us: float
    end_us: float


@dataclass(frozen=True)
class Sample:
    """What was kept, in the order of time."""

    at: float
    """When the times are 0, in seconds since 1970."""
    spans: tuple[Span, ...]
    instants: tuple[Instant, ...] = ()
    turns: tuple[Turn, ...] = ()
    rank: int | None = None


def sample_of(run: RawRun) -> Sample | None:
    """None where none was kept: a run that ended in its warm-up, an earlier version's, a simulated one."""
    kept, at = run.spans, run.spans.get("at")
    if not _is_number(at) or run.header.get("simulated"):
        return None
    kinds = kept.get("kinds", ())
    spans = tuple(
        Span(str(kind[0]), start, us, place_of(run, kind[1]), place_of(run, kind[2]))
        for kind, start, us in _named(kept.get("rows", ()), kinds)
        if us is not None and us >= 0
    )
    end = max((span.start_us + span.us for span in spans), default=0.0)
    instants = tuple(
        Instant(str(kind[0]), str(kind[1]), over, us, place_of(run, kind[2]))
        for kind, over, us in _named(kept.get("events", ()), kinds)
        if over <= end and (us is None or us >= 0)
    )
    return Sample(float(at), spans, instants, tuple(_turns(kept.get("turns", ()))), run.place[0])


def _named(
    rows: Iterable[Sequence[Any]], kinds: Sequence[Sequence[Any]]
) -> Iterator[tuple[Sequence[Any], float, float | None]]:
    """Each row with the kind that it names; a damaged record's rows that are no numbers are left out."""
    for number, at, us in rows:
        if isinstance(number, int) and 0 <= number < len(kinds) and _is_number(at) and (us is None or _is_number(us)):
            yield kinds[number], float(at), None if us is None else float(us)


def _turns(rows: Iterable[Sequence[Any]]) -> Iterator[Turn]:
    start = 0.0
    for number, end in rows:
        if isinstance(number, int) and _is_number(end) and end >= start:
            yield Turn(number, start, float(end))
            start = float(end)


def place_of(run: RawRun, number: object) -> Place | None:
    """Where a site of the record is: for those in packages, the project's line that led there."""
    site = run.sites.get(number) if isinstance(number, int) else None
    if site is None:
        return None
    via = site.get("via")
    return (str(via[0]), int(via[1])) if via else (str(site["path"]), int(site["line"]))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
