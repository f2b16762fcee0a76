"""Where the host's time goes in a step: marks come in, time between two marks gets a name.

Torch-free, driven by probes. Only the thread of the first mark counts: a loader read by a background thread is not
what training waits for. All times are the host's: on a device-bound run they show where the host waits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from time import perf_counter, time

from torchperf_lint.events import Record
from torchperf_lint.runtime import histograms, pace, segments
from torchperf_lint.runtime.closing import Closing
from torchperf_lint.runtime.pace import BY_MARK, Pace
from torchperf_lint.runtime.phases import (
    ACTED,
    BACKWARD,
    BACKWARDED,
    CALL,
    COMPILE,
    FETCH,
    FETCHED,
    ITER,
    ITERED,
    LEARN,
    STEP,
    STEPPED,
    WAIT,
    phase,
)
from torchperf_lint.runtime.recorder import Recorder
from torchperf_lint.runtime.sample import Sample
from torchperf_lint.runtime.scope import Scope
from torchperf_lint.runtime.sites import Key

_THIRD, _OFTEN = 3, 1000
_AT_ONCE = 20
"""So many steps are followed mark by mark; after them, marks may be set later than what they mark."""


class Timeline:
    """One per process."""

    def __init__(self, recorder: Recorder, warmup: int, clock: Callable[[], float] = perf_counter) -> None:
        """`warmup`: how many steps (batches, where nothing trains) are left out of times."""
        self.recorder = recorder
        self._scopes = recorder.scopes
        self.warmup = warmup
        self.on_step: list[Callable[[int], None]] = []
        """Called with the number of steps after each that closes."""
        self.on_milestone: list[Callable[[int], None]] = []
        """The same, for what need not know of each: at the third step, the warm-up's last, and every thousandth."""
        self.on_fetch: list[Callable[[], None]] = []
        """Called when training asks a loader for a batch."""
        self.may_defer = True
        """False where somebody must hear of each step when it closes."""
        self.on_first_mark: list[Callable[[], None]] = []
        """Called when the first mark comes, on its thread."""
        self.on_wait: list[Callable[[float], None]] = []
        """Called with the ms in which the host stood still for the device, on the thread that did."""
        self.clock = clock
        """Seconds; its zero means nothing."""
        self.sample = Sample(recorder, clock)
        self.restart()
        recorder.sources.append(self.records)

    def restart(self) -> None:
        """Forget everything: a forked child starts afresh."""
        self.on_fetch.clear()
        self.steps = self.batches = self.backwards = 0
        self._thread: int | None = None
        self._last: tuple[str, float, Key | None] | None = None
        self._aside: dict[str, float] = {}
        """Seconds since the last mark that are not what the next mark will call them."""
        self._depth = {FETCH: 0, BACKWARD: 0}
        self.closing = Closing()
        self.stepped_on = 0
        """The thread on which an optimizer has stepped, until a model has been called there; 0: none."""
        self._closed_at: float | None = None
        self._histogram: dict[int, int] = {}
        self.compared = False
        """Whether other processes train with this one: only then is kept, step by step, what each does alone."""
        self._pace = Pace()
        self.left_out = 0
        """Steps under a profiler of ours, which count in no time."""
        self.leaves_out = False
        """Whether a profiler of ours is on."""
        self._undisturbed: dict[int, int] = {}
        """The histogram as it was when one was first switched on: CUPTI, once loaded, slows later calls, too."""
        self._marks = 0
        self._shown: tuple[object, ...] = ()
        self._sampling: Sample | None = self.sample.restart()
        """The sample, until it is full."""
        self.recorder.scopes.steady = self.warmup == 0

    def now(self) -> tuple[float, int]:
        """When, in seconds on the timeline's clock, and on which thread: what a mark that is set later takes along."""
        return self.clock(), threading.get_ident()

    def fetch_begins(
        self, key: Key | None, at: float | None = None, thread: int = 0, scope: Scope | None = None
    ) -> bool:
        """A loader is asked for a batch; False where it is not what training waits for."""
        if at is None:
            at, thread = self.now()
        if (thread != self._thread or self.recorder.muted) and not self._mine(thread):
            return False
        depth = self._depth
        depth[FETCH] += 1
        if depth[FETCH] == 1:
            self._mark(FETCH, key, at)
            for callback in self.on_fetch:
                callback()
            if scope is not None:
                self._scopes.asked(scope)
        return True

    def scope_of(self, iterator: object) -> Scope:
        """What `fetch_ends` takes in place of an iterator, which must not be kept alive by a mark set later."""
        with self.recorder.lock:
            return self.recorder.scopes.of(iterator)

    def fetch_ends(
        self, key: Key | None, iterator: object, got: bool, at: float | None = None, thread: int = 0
    ) -> None:
        """The batch is there, or (`got` False) there is none."""
        if at is None:
            at, thread = self.now()
        if (thread != self._thread or self.recorder.muted) and not self._mine(thread):
            return
        if self._left(FETCH):
            return
        scopes = self._scopes
        with self.recorder.lock:
            scope = iterator if isinstance(iterator, Scope) else scopes.of(iterator)
            self._mark(FETCHED, key, at, scope)
            if not got:
                scopes.exhausted(scope)
                return
            scopes.fetched(scope)
            self.batches += 1
            if not self.steps and not self.backwards:
                scopes.steady = self.batches >= self.warmup
                if self._sampling is not None:
                    self._sampling = self._sampling.turn(self.batches, at)
        self.recorder.matters()

    def iter_begins(self, key: Key | None) -> None:
        """A pass over a loader is being set up; workers start now."""
        at, thread = self.now()
        self.recorder.drain()
        if self._mine(thread) and not self._depth[FETCH]:
            self._mark(ITER, key, at)

    def iter_ends(self, key: Key | None, iterator: object, loader: object = None, made: int | None = None) -> Scope:
        """The pass is set up, in its own time; `loader`: what stands for it in every pass; `made`: its site."""
        at, thread = self.now()
        self.recorder.drain()
        with self.recorder.lock:
            scope = self.recorder.scopes.begins(iterator, loader, None if made is None else (made, key))
            if self._mine(thread) and not self._depth[FETCH]:
                self._mark(ITERED, key, at, scope)
        return scope

    def backward_begins(self, key: Key | None, at: float | None = None, thread: int = 0) -> None:
        """A backward pass begins."""
        if at is None:
            at, thread = self.now()
        if (thread != self._thread or self.recorder.muted) and not self._mine(thread, True):
            return
        self._depth[BACKWARD] += 1
        if self._depth[BACKWARD] > 1:
            return
        self.backwards += 1
        with self.recorder.lock:
            if self.backwards == 1 and not self.steps:
                self._first_backward()
            self._scopes.trains()
            self._mark(BACKWARD, key, at)

    def _first_backward(self) -> None:
        """What was before it, if anything, was no training."""
        if self.warmup:
            self.recorder.scopes.warm_up_again()
            self._sampling = self.sample.restart()
        else:
            self.sample.trains()

    def backward_ends(self, key: Key | None, at: float | None = None, thread: int = 0) -> bool:
        """A backward pass has been queued, or run where there is no device; whether it is within no other."""
        if at is None:
            at, thread = self.now()
        if (thread != self._thread or self.recorder.muted) and not self._mine(thread):
            return False
        if self._left(BACKWARD):
            return False
        self._mark(BACKWARDED, key, at)
        return True

    def step_begins(self, key: Key | None, at: float | None = None, thread: int = 0) -> None:
        """An optimizer begins its step."""
        if at is None:
            at, thread = self.now()
        if (thread == self._thread and not self.recorder.muted) or self._mine(thread, True):
            self._mark(STEP, key, at)

    def step_ends(self, key: Key | None, optimizer: int, at: float | None = None, thread: int = 0) -> None:
        """An optimizer has stepped: that closes a step of the run, or is part of one (closing.py)."""
        if at is None:
            at, thread = self.now()
        if (thread != self._thread or self.recorder.muted) and not self._mine(thread, True):
            return
        self._mark(STEPPED, key, at)
        if self.closing.closes(optimizer, self._scopes.feeds):
            self._close(at, optimizer)
        else:
            self._scopes.joins(optimizer)

    def acted(self, key: Key | None, at: float, thread: int) -> None:
        """Outside of every loader, what is trained has been called without gradients: to act, or to be evaluated."""
        if self._mine(thread) and self.recorder.scopes.is_outside():
            self._mark(ACTED, key, at)

    def learns(self, key: Key | None, at: float, thread: int) -> None:
        """The first call with gradients after such calls begins."""
        if self._mine(thread) and self._last is not None and self._last[0] == ACTED:
            self._mark(LEARN, key, at)

    def called(self, key: Key | None, at: float, thread: int) -> None:
        """Outside of every loader, a model is called for the first time since an optimizer stepped."""
        follows = self._last is not None and self._last[0] == STEPPED
        if self._mine(thread) and follows and self.recorder.scopes.is_outside():
            self.closing.leads = key
            self._mark(CALL, key, at)

    def leave_out(self) -> None:
        """From here until `take_in` nothing counts in times: a profiler is on. Called where a step has closed."""
        self.leaves_out = True
        self._undisturbed = self._undisturbed or dict(self._histogram)
        self.recorder.scopes.steady = False

    def take_in(self) -> None:
        """The run is itself again; what the profiler's end took belongs to no step."""
        at = self.clock()
        with self.recorder.lock:
            self.leaves_out = False
            self._aside.clear()
            self._pace.starts_over()
            self._closed_at = None
            if self._last is not None:
                self._last = (self._last[0], at, self._last[2])
            self.recorder.scopes.steady = self.steps >= self.warmup

    def is_training(self, thread: int) -> bool:
        """Whether this thread's marks count; asked after its first."""
        return thread == self._thread

    def waited(self, ms: float) -> None:
        """The host stood still for the device meanwhile."""
        for callback in self.on_wait:
            callback(ms)
        self.recorder.later(self._set_aside, WAIT, ms, threading.get_ident())

    def compiled(self, ms: float) -> None:
        """`torch.compile` has compiled something meanwhile."""
        self.recorder.later(self._set_aside, COMPILE, ms, threading.get_ident())

    def _set_aside(self, what: str, ms: float, thread: int) -> None:
        if thread == self._thread:
            self._aside[what] = self._aside.get(what, 0.0) + ms / 1000

    def met(self, ms: float) -> None:
        """A collective that Python called took so long on the host."""
        self.recorder.later(self._count_meeting, ms, threading.get_ident())

    def _count_meeting(self, ms: float, thread: int) -> None:
        if self.compared and thread == self._thread:
            self._pace.meets(ms / 1000)

    def _mine(self, thread: int, trains: bool = False) -> bool:
        """Whether this is the training thread: the first that trains or, until one does, the first to read a loader."""
        if self.recorder.muted:
            return False
        if thread != self._thread and (self._thread is None or (trains and not self.backwards and not self.steps)):
            self._take_over(thread)
        return thread == self._thread

    def _take_over(self, thread: int) -> None:
        """What a thread that only reads a loader has done so far is no part of the loop."""
        if self._thread is not None:
            self.recorder.scopes.restart()
            self.restart()
        self._thread = thread

    def _left(self, what: str) -> int:
        """How deep it still is; what began before we took over or listened does not count."""
        depth = self._depth[what]
        if depth:
            depth = self._depth[what] = depth - 1
        return depth

    def _mark(self, name: str, key: Key | None, at: float, scope: Scope | None = None) -> None:
        """The time since the last mark goes to `scope`, else to the current one."""
        last, self._last = self._last, (name, at, key)
        self._marks += 1
        scopes = self._scopes
        if last is None or not scopes.steady:
            self._skip(first=last is None)
            return
        with self.recorder.lock:
            kept = (scope or scopes.current).segments
            spent = at - last[1]
            if self._aside:
                spent -= segments.spend(self._aside, kept, spent)
            segment = (last[0], name, last[2], key)
            total = kept.get(segment)
            if total is None:
                total = segments.total_of(kept, segment)
            total[0] += spent
            total[1] += 1
            if self._sampling is not None:
                self._sampling = self._sampling.mark(last, name, at, key, self._thread)
        if self.compared:
            self._pace.passes(BY_MARK.get(name), spent)

    def _skip(self, *, first: bool) -> None:
        """What has passed before this mark counts in no time."""
        if first:
            for callback in self.on_first_mark:
                callback()
        self._aside.clear()
        self._pace.skips()

    def _close(self, at: float, optimizer: int) -> None:
        recorder, before = self.recorder, self.steps
        with recorder.lock:
            self._count(at, optimizer)
        late = recorder.deferring
        recorder.deferring = self.may_defer and self.steps > max(self.warmup, _AT_ONCE)
        recorder.matters()
        for callback in self.on_step:
            callback(self.steps)
        if any(step in (_THIRD, self.warmup) or step % _OFTEN == 0 for step in range(before + 1, self.steps + 1)):
            for callback in self.on_milestone:
                callback(self.steps)
        if not late:  # what is made later is written later, too: whoever put it off asks for that
            recorder.tick()

    def _count(self, now: float, optimizer: int) -> None:
        self.steps += 1 + self._scopes.were_steps(self.closing.settled())
        if self._sampling is not None:
            self._sampling = self._sampling.turn(self.steps, now)
        if self.leaves_out:
            self.left_out += 1
        elif self._closed_at is not None and self.steps > self.warmup:
            histograms.keep(self._histogram, now - self._closed_at)
            if self.compared:
                self._pace.closes(self.steps)
        self._closed_at = now
        self._scopes.steady = self.steps >= self.warmup and not self.leaves_out
        self._scopes.trains(steps=True)
        self._scopes.stepped(optimizer)

    def records(self) -> Iterator[Record]:
        """`spans`, `steps` and `time`, when they have changed."""
        yield from self.sample.records(phase)
        scopes = self.recorder.scopes
        shown = (self._marks, scopes.train.batches, scopes.evaluation.batches, scopes.runs.turns)
        if shown == self._shown:
            return
        self._shown = shown
        yield {
            "record": "steps",
            "at": round(time(), 3),
            "steps": self.steps,
            "warmup": self.warmup,
            "left_out": self.left_out,
            "backwards": self.backwards,
            "optimizer_calls": list(self.closing.calls.values()),
            "closed_by": [list(closed) for closed in scopes.loops.closed],
            "train_batches": scopes.train.batches,
            "eval_batches": scopes.evaluation.batches,
            "eval_calls": scopes.runs.turns,
            "acts": scopes.runs.acts,
            "bucket": histograms.BUCKET,
            "histogram": sorted(self._histogram.items()),
            "undisturbed": sorted(self._undisturbed.items()),
            "phases": self._pace.histograms(*pace.ALONE),
            "together": self._pace.histograms(pace.BACKWARD, pace.MET),
        }
        yield from self._pace.records()
        site = self.recorder.site
        yield {
            "record": "time",
            "train": segments.rows(scopes.train.segments, site),
            "eval": segments.rows(scopes.evaluation.segments, site),
            "outside": segments.rows(scopes.outside.segments, site),
        }
