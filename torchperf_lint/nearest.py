"""Which of the events at a line a place is about, where another expression of the line has events of its own.

    labels = torch.LongTensor((y > 0).sum().item() * [3]).to(device)
             |                ^^^^^^^^^^^^^^^^^^^^ a read
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ an upload, around it

Whose span is the place's are its own; else those within it are, as of a whole call that reads its arguments; else the
tightest of those around it, as of a name that a call uploads. What a package does when it is called from there is, too.
Without columns (before Python 3.11) all of the line is, as far as what it is does not tell: an upload is no read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchperf_lint.waits import COPY

if TYPE_CHECKING:
    from torchperf_lint.evidence import Evidence
    from torchperf_lint.model import Location
    from torchperf_lint.recorded import Event

_Fit = tuple[int, ...]
_SAME: _Fit = (2,)
_INSIDE: _Fit = (1,)


def nearest(events: Iterable[Event], place: Location) -> tuple[Event, ...]:
    """Of events that overlap a place: those that belong to nothing else, as far as columns tell."""
    fits = [(event, _fit(event, place)) for event in events]
    best = max((fit for _, fit in fits if fit is not None), default=None)
    return tuple(event for event, fit in fits if fit is None or fit == best)


def _fit(event: Event, place: Location) -> _Fit | None:
    """The greater the nearer; None where columns are not known."""
    if event.path != place.path or event.column is None or event.end_line is None or event.end_column is None:
        return None
    start, end = (event.line, event.column), (event.end_line, event.end_column)
    first, last = (place.line, place.column), (place.end_line, place.end_column)
    if (start, end) == (first, last):
        return _SAME
    if first <= start and end <= last:
        return _INSIDE
    return (0, *start, *(-number for number in end))


def of_kind(events: Iterable[Event], run: Evidence, *, copied: bool) -> tuple[Event, ...]:
    """Of events at a place: without the waits that are known by their line alone and are of another kind.

    `copied`: whether copies are what the place is about, else reads, which may wait for a copy to the host as well.
    """
    events = tuple(events)
    kept = tuple(e for e in events if e.kind != "sync" or e.column is not None or _is_meant(e, run, copied=copied))
    return kept or events


def _is_meant(event: Event, run: Evidence, *, copied: bool) -> bool:
    if copied:
        return event.what == COPY
    if event.what != COPY:
        return True
    here = [e for e in run.events if e.kind == "copy" and (e.path, e.line) == (event.path, event.line)]
    return not here or any(e.what == "d2h" for e in here)
