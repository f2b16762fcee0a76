"""Which lines the device idled for: waits of the host, and the idle gaps that followed them.

While the host waits it launches nothing. When the wait ends, the device has run dry, and idles until the next launch
arrives. A gap counts for a wait if the wait was over when what ended the gap was launched, and was not over when the
gap began. Had the host not waited, that launch would have come earlier by no more than the wait was long; so a gap
counts for no more than the waits in it took. Where several waits share a gap it is divided by how long each took, and
the sum over all lines is no longer than the gap. All this is an upper bound: without one wait, the next may take its
place.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from torchperf_lint.activities import MARK, PREFIX, Activity
from torchperf_lint.intervals import Stretch

SYNC = f"{PREFIX}sync:"
"""What the marks of waits begin with: `tpl.sync:<number of the site>:<what waited>`."""
_NEXT_US = 1e6
"""A call that comes so much later than the mark is not what the mark announced."""


class Wait(NamedTuple):
    """One wait of the host at a line."""

    site: int
    """Number of the site in the record; 0 where it has none."""
    what: str
    start: float
    end: float
    """Microseconds."""
    track: int = 0

    @property
    def blocked(self) -> float:
        """Microseconds."""
        return self.end - self.start


def waits_of(activities: Iterable[Activity]) -> list[Wait]:
    """Each mark of ours with the call that waited: the first on the same thread, before the thread's next mark.

    A copy that the host waits for copies first; its call belongs to the wait. A mark without a call is left out.
    """
    ordered = sorted(activities, key=lambda a: a.start)
    marks = [a for a in ordered if a.kind == MARK and a.name.startswith(SYNC)]
    calls = [a for a in ordered if a.waits]
    if not {mark.track for mark in marks} & {call.track for call in calls}:
        # CUPTI and torch number threads each in their own way on some systems.
        marks, calls = [m._replace(track=0) for m in marks], [c._replace(track=0) for c in calls]
    found: list[Wait] = []
    for track in sorted({mark.track for mark in marks}):
        found += _paired([m for m in marks if m.track == track], [c for c in calls if c.track == track])
    return sorted(found, key=lambda wait: (wait.start, wait.end))


def _paired(marks: Sequence[Activity], calls: Sequence[Activity]) -> Iterable[Wait]:
    starts = [call.start for call in calls]
    for number, mark in enumerate(marks):
        until = marks[number + 1].start if number + 1 < len(marks) else mark.start + _NEXT_US
        at = bisect_left(starts, mark.start)
        if at < len(calls) and calls[at].start < min(until, mark.start + _NEXT_US):
            site, _, what = mark.name[len(SYNC) :].partition(":")
            yield Wait(int(site) if site.isdecimal() else 0, what, mark.start, calls[at].end, mark.track)


def shared_out(
    gaps: Iterable[Stretch], waits: Sequence[Wait], launched: Mapping[float, float]
) -> tuple[dict[tuple[int, str], float], float]:
    """((site, what) -> microseconds the device idled for it, microseconds of gaps in all).

    `gaps`: idle stretches of the device, sorted. `launched`: when what began at a gap's end was launched; a gap
    without is left open, and so are gaps that end with the window.
    """
    told: dict[tuple[int, str], float] = {(wait.site, wait.what): 0.0 for wait in waits}
    by_end = sorted(waits, key=lambda wait: wait.end)
    ends = [wait.end for wait in by_end]
    idle = 0.0
    for start, end in gaps:
        idle += end - start
        launch = launched.get(end)
        if launch is None:
            continue
        # Waits that were over when the next launch began, and were not before the device ran dry.
        within = by_end[bisect_left(ends, start) : bisect_right(ends, launch)]
        blocked = sum(wait.blocked for wait in within)
        if blocked <= 0:
            continue
        part = min(end - start, blocked) / blocked
        for wait in within:
            told[wait.site, wait.what] += part * wait.blocked
    return told, idle
