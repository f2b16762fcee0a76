"""How long a model takes to answer where nothing trains and no loader is read, and the time between two answers.

A call is an outermost call of a module. A request is an outermost block without gradients that holds calls (a handler's
`with torch.inference_mode():`, `generate()`), or a call outside of such blocks. A block around a whole loop is one
request of many calls, so both are counted, and who reads the record chooses. Any thread may answer. Torch-free.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.events import Record
from torchperf_lint.runtime.between_calls import BetweenCalls, CpuClock, Left, thread_clock
from torchperf_lint.runtime.histograms import BUCKET, keep
from torchperf_lint.runtime.timeline import Timeline

if TYPE_CHECKING:
    from torchperf_lint.runtime.recorder import Recorder
    from torchperf_lint.runtime.sites import Key

_MOST_PLACES = 20


class Here(threading.local):
    """What one thread is in the middle of."""

    inside = False
    """Whether a module is being called."""
    blocks = 0
    """How deep it is in blocks without gradients."""
    began = 0.0
    """When the outermost of them began, or the call outside of them."""
    calls = 0
    """Calls within it."""
    in_calls = 0.0
    waited = 0.0
    """Seconds in which the host stood still for the device, since the block began."""
    left: Left | None = None
    """The end of its last call; None where CPU time is not counted, or before."""
    stood = 0.0
    """Seconds in which the host stood still for the device, since then."""
    call: tuple[str, Key | None, float, float] | None = None
    """What the call under way is, where it is from, when it began, and what `waited` was then."""


class Turns:
    """Requests, or calls; seconds on the timeline's clock, those after the warm-up."""

    def __init__(self, warmup: int) -> None:
        self._warmup = warmup
        self.count = 0
        self.steady = 0
        self._under_way = 0
        self._most = 0
        self._free_since: float | None = None
        self._total = self._in_calls = self._waited = self._idle = 0.0
        self._histogram: dict[int, int] = {}
        self._between: dict[int, int] = {}

    def begins(self, at: float) -> None:
        """One more is under way since `at`."""
        if not self._under_way and self._free_since is not None and self.count >= self._warmup:
            free = max(at - self._free_since, 0.0)
            self._idle += free
            keep(self._between, free)
        self._under_way += 1
        self._most = max(self._most, self._under_way)

    def ends(self, began: float, at: float, in_calls: float, waited: float) -> None:
        """One has been answered."""
        self._under_way = max(self._under_way - 1, 0)
        self._free_since = at
        self.count += 1
        if self.count > self._warmup:
            self.steady += 1
            self._total += at - began
            self._in_calls += in_calls
            self._waited += min(waited, at - began)
            keep(self._histogram, at - began)

    def record(self) -> Record:
        """As the events file has it, ms."""
        return {
            "n": self.count,
            "steady": self.steady,
            "most": self._most,
            "ms": round(self._total * 1000, 3),
            "in_calls_ms": round(self._in_calls * 1000, 3),
            "waiting_ms": round(self._waited * 1000, 3),
            "idle_ms": round(self._idle * 1000, 3),
            "histogram": sorted(self._histogram.items()),
            "between": sorted(self._between.items()),
        }


class Requests:
    """All answers of a process, for as long as it neither trains nor reads a loader."""

    def __init__(self, recorder: Recorder, timeline: Timeline, cpu: CpuClock | None = None) -> None:
        """`cpu`: the CPU seconds of the thread that asks, in place of the system's."""
        self._recorder, self._cpu = recorder, cpu or thread_clock()
        self._timeline = timeline
        self.here = Here()
        timeline.on_wait.append(self._waited)
        self.restart()

    def restart(self) -> None:
        """A forked child has answered nothing."""
        self.here = Here()
        self._requests, self._calls = Turns(self._timeline.warmup), Turns(self._timeline.warmup)
        self._between = BetweenCalls()
        self._places: dict[Key | None, int] = {}
        self._blocks = 0
        self._told = (0, 0)

    def call_begins(self, at: float, key: Key | None, *, within: bool = False) -> None:
        """A module is called, on this thread and from outside of all calls; `within`: by a method of a module."""
        here = self.here
        if here.left is not None and self._cpu is not None:
            self._comes_after(here, here.left, at, None if within else self._cpu(), key)
        if not here.blocks:
            self._open(here, at)
        with self._recorder.lock:
            here.calls += 1
            if here.calls == 1:
                self._requests.begins(here.began)
            self._calls.begins(at)
            if key in self._places or len(self._places) < _MOST_PLACES:
                self._places[key] = self._places.get(key, 0) + 1
            self._recorder.scopes.answers(key)

    def _comes_after(self, here: Here, left: Left, at: float, cpu: float | None, key: Key | None) -> None:
        """The time since this thread's last call, after the warm-up; `cpu` is None where it is the model's own."""
        if self._calls.count < self._timeline.warmup:
            return
        with self._recorder.lock:
            if cpu is None:
                self._between.add_within(at - left.at)
            else:
                self._between.add(left, key, at, cpu, here.stood)

    def call_ends(self, began: float, at: float, waited: float, key: Key | None = None) -> None:
        """It has returned, or raised; `waited`: what `here.waited` was when it began, in seconds."""
        here = self.here
        here.in_calls += at - began
        with self._recorder.lock:
            self._calls.ends(began, at, at - began, here.waited - waited)
            self._recorder.scopes.steady = self._calls.count >= self._timeline.warmup
        if not here.blocks:
            self._close(here, at)
        self._recorder.matters()
        self._recorder.tick()
        if self._cpu is not None:  # last: what is written here is no part of what the script computes
            here.left, here.stood = Left(at, self._cpu(), key), 0.0

    def block_begins(self, at: float) -> None:
        """A block without gradients is entered."""
        here = self.here
        if not here.inside:
            if not here.blocks:
                self._open(here, at)
            here.blocks += 1

    def block_ends(self, at: float) -> None:
        """It is left."""
        here = self.here
        if not here.inside and here.blocks:
            here.blocks -= 1
            if not here.blocks:
                self._blocks += bool(here.calls)
                self._close(here, at)

    @staticmethod
    def _open(here: Here, at: float) -> None:
        here.began, here.calls, here.in_calls, here.waited = at, 0, 0.0, 0.0

    def _close(self, here: Here, at: float) -> None:
        if here.calls:
            with self._recorder.lock:
                self._requests.ends(here.began, at, here.in_calls, here.waited)
            here.calls = 0

    def _waited(self, ms: float) -> None:
        self.here.waited += ms / 1000
        self.here.stood += ms / 1000

    def records(self) -> Iterator[Record]:
        """`requests`, when there are new ones."""
        counts = (self._calls.count, self._requests.count)
        if counts == self._told:
            return
        self._told = counts
        most = sorted(self._places.items(), key=lambda entry: -entry[1])
        yield {
            "record": "requests",
            "bucket": BUCKET,
            "requests": self._requests.record(),
            "blocks": self._blocks,
            "calls": self._calls.record(),
            "between": self._between.record(self._recorder.site) if self._cpu is not None else None,
            "places": [[self._recorder.site(key), times] for key, times in most],
        }
