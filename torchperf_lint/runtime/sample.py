"""The first steps after the warm-up, mark by mark: what a picture of steps as they ran is made of. Torch-free.

A bounded sample: once it is full, a mark costs one look at whether it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import time
from typing import Any

from torchperf_lint.events import Record
from torchperf_lint.runtime.recorder import Recorder
from torchperf_lint.runtime.sites import Key

STEPS = 64
"""Steps (batches, where nothing trains) that are kept."""
MOST = 1024
"""Stretches between marks, and events, that are kept: steps of many batches fill a sample before its last step."""


class Sample:
    """One per timeline; its times are seconds on the timeline's clock."""

    def __init__(self, recorder: Recorder, clock: Callable[[], float]) -> None:
        self.allowed = True
        """False where times mean nothing."""
        self._recorder = recorder
        self._clock = clock
        self.restart()

    def restart(self) -> Sample:
        """Forget everything: a forked child starts afresh, and so does training after what came before it."""
        self._recorder.on_event = None
        self._zero: float | None = None
        """When it began; None until the warm-up is over."""
        self._thread: int | None = None
        self._rows: list[tuple[str, str, Key | None, Key | None, float, float]] = []
        self._events: list[tuple[str, str, Key | None, float, float | None]] = []
        self._turns: list[tuple[int, float]] = []
        self._kinds: dict[tuple[Any, ...], int] = {}
        self._written = (0, 0, 0)
        return self

    def mark(
        self, last: tuple[str, float, Key | None], name: str, at: float, key: Key | None, thread: int | None
    ) -> Sample | None:
        """The stretch from the last mark to this one, after the warm-up; None once the sample is full."""
        if not self.allowed:
            return None
        if self._zero is None:
            self._zero, self._thread, self._recorder.on_event = last[1], thread, self._event
        self._rows.append((last[0], name, last[2], key, last[1], at))
        return self._unless(len(self._rows) >= MOST)

    def turn(self, number: int, at: float) -> Sample | None:
        """Step `number` of the run (batch, where nothing trains) is over; None once the sample is full."""
        if self._zero is not None:
            self._turns.append((number, at))
        return self._unless(len(self._turns) >= STEPS)

    def trains(self) -> None:
        """What turns is the step, not the batch."""
        self._turns.clear()
        self._written = (*self._written[:2], 0)

    def _unless(self, full: bool) -> Sample | None:
        if not full:
            return self
        self._recorder.on_event = None
        return None

    def _event(self, kind: str, what: str, key: Key | None, ms: float | None) -> None:
        """Something happened just now, after it had held the host up for `ms`; None where nobody took the time."""
        if threading.get_ident() == self._thread and len(self._events) < MOST:
            self._events.append((kind, what, key, self._clock(), ms))

    def records(self, phase: Callable[[str, str], str]) -> Iterator[Record]:
        """`spans`, with what has come since the last one; `phase`: what the time between two marks is called."""
        ends = (len(self._rows), len(self._events), len(self._turns))
        if self._zero is None or ends == self._written:
            return
        first, self._written = self._written, ends
        site = self._recorder.site
        yield {
            "record": "spans",
            "at": round(time() - (self._clock() - self._zero), 6),
            "first": list(first),
            "rows": [
                [self._kind(phase(last, name), site(start), site(end)), self._us(at), self._us(until) - self._us(at)]
                for last, name, start, end, at, until in self._rows[first[0] : ends[0]]
            ],
            "events": [
                [self._kind(kind, what, site(key)), self._us(at), None if ms is None else round(ms * 1000)]
                for kind, what, key, at, ms in self._events[first[1] : ends[1]]
            ],
            "turns": [[number, self._us(at)] for number, at in self._turns[first[2] : ends[2]]],
            "kinds": [list(kind) for kind in self._kinds],
        }

    def _kind(self, *kind: str | int | None) -> int:
        return self._kinds.setdefault(kind, len(self._kinds))

    def _us(self, at: float) -> int:
        return round((at - (self._zero or 0.0)) * 1e6)
