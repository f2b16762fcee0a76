"""Counts what the probes see, and writes it down about once a second from within their callbacks.

No thread of ours lives in the training process: one would make forked loader workers warn on Python 3.12 and later.
Torch-free. A callback costs a walk of the stack, a dictionary look-up and a few additions.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import suppress
from threading import get_ident
from time import perf_counter
from typing import Any

from torchperf_lint.events import SUFFIX, Record, Writer
from torchperf_lint.runtime.counter import Counter
from torchperf_lint.runtime.next_step import NextStep
from torchperf_lint.runtime.scopes import Scopes
from torchperf_lint.runtime.sites import Key, Sites
from torchperf_lint.waits import CHECKPOINT

Attributes = tuple[tuple[str, Any], ...]
_LASTING_STATES = ("torch", "build")
_FLUSH_EVERY_S = 1.0
_MOST_DEFERRED = 512
_FLUSHES_AT_FULL_RATE = 60
"""After a minute the interval grows with the run, so that a week of training writes no more than a few MB."""


class Recorder:
    """One per process. Every public method may be called from any thread, and never raises for what is recorded."""

    def __init__(
        self, path: str, header: Mapping[str, Any], sites: Sites, eager: bool = True, family: str | None = None
    ) -> None:
        """`eager`: write the header now; else (child processes) once there is something to say.

        `family`: the path of the process that all others were started from; theirs are made from it.
        """
        self.path = path
        self._family = family or path
        self.sites = sites
        self.scopes = Scopes()
        self.muted = False
        """True where nothing may be recorded: loader workers, and while we look at the run ourselves."""
        self.sources: list[Callable[[], Iterable[Record] | None]] = []
        """Called at each flush: more records, cumulative, only what changed."""
        self._header = dict(header)
        self.on_event: Callable[[str, str, Key | None, float | None], object] | None = None
        """Told of each event when it comes, while somebody wants to know: kind, what, site, ms."""
        self.saving: set[int] = set()
        """Threads that save a checkpoint now."""
        self.next_step: NextStep | None = None
        """Where the run is to end after some steps: what belongs to the last of them."""
        self._lasting: dict[tuple[str, str], Record] = {}
        """What a forked child says of itself, too: what watches it, and with what torch."""
        self._log: deque[tuple[Callable[..., object], tuple[object, ...]]] = deque()
        self.put_off = self._log.append
        """What `later` does while `deferring`, without its call: `put_off((function, args))`."""
        self.lock = threading.RLock()
        """Held while figures change; a signal's handler that records on the same thread goes through."""
        self._reset(eager)
        self.scopes.later = self.later
        if eager:
            self.flush()

    def _reset(self, matters: bool) -> None:
        self._matters = matters
        self._counters: dict[tuple[str, str, Attributes, Key | None], Counter] = {}
        self._definitions: list[Record] = []
        self._sites: dict[Key, int] = {}
        self._unresolved: list[tuple[int, Key]] = []
        self._touched: list[Counter] = []
        self._pending: list[Record] = [{"record": "header", **self._header, "pid": os.getpid()}]
        self._pending += self._lasting.values()
        self._writer: Writer | None = None
        self._flushing = False
        self._log.clear()
        self._draining = False
        self.deferring = False
        """Whether `later` means later; the timeline says so once the run is steady."""
        self._flushes = 0
        self._started = perf_counter()
        self.next_flush = self._started + _FLUSH_EVERY_S
        """When `tick` writes, in seconds of `perf_counter`."""

    def event(
        self,
        kind: str,
        what: str,
        *,
        ms: float | None = None,
        nbytes: int = 0,
        attributes: Attributes = (),
        depth: int = 2,
        key: Key | None = None,
    ) -> None:
        """Count one event at the site of the caller `depth` frames up, or at `key`."""
        if self.muted:
            return
        if key is None:
            key = self.sites.key(depth + 1)
        told = self.on_event
        if told is not None:
            told(kind, what, key, ms)
        if self.saving and get_ident() in self.saving:
            attributes = (*attributes, (CHECKPOINT, True))
        self.later(self._count, kind, what, attributes, key, ms, nbytes)
        self.tick()

    def _count(
        self, kind: str, what: str, attributes: Attributes, key: Key | None, ms: float | None, nbytes: int
    ) -> None:
        with self.lock:
            self._matters = True
            counter = self._counters.get((kind, what, attributes, key))
            steps = self.next_step
            if steps is not None and not steps.happens(counter):
                return
            if counter is None:
                counter = self._new_counter(kind, what, attributes, key)
            if steps is not None:
                steps.counted(counter)
            self._add(counter, ms, nbytes)

    def later(self, function: Callable[..., object], *args: object) -> None:
        """Call `function(*args)` now or, in the steady part of a run, many at once: that costs less.

        The order of calls is kept. What is called must take with it what it needs of the moment: the clock, the
        thread, the site; and it must not raise.
        """
        if self.deferring:
            self._log.append((function, args))
        else:
            function(*args)

    def drain(self) -> None:
        """Make the calls that were put off."""
        with self.lock:
            if self._draining:
                return
            self._draining = True
            try:
                # One lock and one look-up for all of them; what they put off in turn comes last.
                log, next_one = self._log, self._log.popleft
                while log:
                    function, args = next_one()
                    function(*args)
            finally:
                self._draining = False

    def _add(self, counter: Counter, ms: float | None, nbytes: int) -> None:
        counter.n += 1
        counter.nbytes += nbytes
        if ms is not None:
            counter.ms = (counter.ms or 0.0) + ms
        if self.scopes.steady:
            counter.steady += 1
            if ms is not None:
                counter.steady_ms = (counter.steady_ms or 0.0) + ms
        scopes = self.scopes
        scope, step = scopes.current if scopes.ahead.tail is None else scopes.of_event(counter), scopes.steps + 1
        touched = scope.touched.get(counter)
        if touched is None:
            touched = scope.touched[counter] = [0, 0, 0]
            if scope.earlier is not None:
                scope.earlier[counter] = (counter.scope, counter.turn, counter.last)
        touched[1] += 1
        if counter.last != step or counter.scope is not scope:
            touched[2] += 1
            counter.last = step
            scopes.loops.come.add(counter)
        if counter.turn != scope.turn or counter.scope is not scope:
            counter.begins(scope)
            touched[0] += 1
            counter.first = counter.first or step
        self._touch(counter)

    def withdraws(self, given: Mapping[Counter, tuple[int, int, int]], waiting: Container[Counter]) -> None:
        """No step has closed yet: what was counted in some is no training, and what they were `given` no evaluation.

        `waiting`: what is still to be counted, in the first step.
        """
        for counter in self._counters.values():
            counter.withdraws(*given.get(counter, (0, 0, 0)), step=int(counter in waiting))
            self._touch(counter)

    def _touch(self, counter: Counter) -> None:
        if not counter.dirty:
            counter.dirty = True
            self._touched.append(counter)

    def _new_counter(self, kind: str, what: str, attributes: Attributes, key: Key | None) -> Counter:
        counter = self._counters[(kind, what, attributes, key)] = Counter(len(self._counters) + 1)
        site = self.site(key)
        self._definitions.append(
            {"record": "event", "id": counter.id, "kind": kind, "what": what, "site": site, **dict(attributes)}
        )
        return counter

    def site(self, key: Key | None) -> int | None:
        """The number that stands for a site in the events file."""
        if key is None:
            return None
        with self.lock:
            number = self._sites.get(key)
            if number is None:
                number = self._sites[key] = len(self._sites) + 1
                self._unresolved.append((number, key))
            return number

    def note(self, record: Record) -> None:
        """Write this record, as it is, at the next flush."""
        if not self.muted:
            with self.lock:
                self._pending.append(record)

    def state(self, key: str, value: Any) -> None:  # noqa: ANN401 -- whatever JSON can hold
        """Note a fact about the process; the last one said wins."""
        record = {"record": "state", "key": key, "value": value}
        if key in _LASTING_STATES:
            self._lasting["state", key] = record
        self.note(record)

    def probe(self, name: str, state: str, reason: str | None = None) -> None:
        """Note that a probe watches, is unavailable or has failed, and why."""
        record = {"record": "probe", "name": name, "state": state, "reason": reason}
        self._lasting["probe", name] = record
        self.note(record)

    def matters(self) -> None:
        """There is something to say: from now on a child process writes its file, too."""
        self._matters = True

    def tick(self) -> None:
        """Flush when it is time to, or catch up with what was put off."""
        if self.muted:
            return
        if perf_counter() >= self.next_flush:
            self.flush()
        elif len(self._log) >= _MOST_DEFERRED:
            self.drain()

    def flush(self) -> None:
        """Write what changed since the last time. A disk that refuses ends the recording, not the run."""
        with self.lock:
            self.drain()
            # A signal's handler may come in the middle, and what it writes would be older figures' last word.
            if self.muted or not self._matters or self._flushing:
                return
            self._flushing = True
            try:
                self._write(list(self._changed()))
            except OSError:
                self.muted = True
            except Exception as error:  # noqa: BLE001 -- the border to the script: what we cannot write is our loss
                self._give_up(error)
            finally:
                self._flushing = False
            self._schedule()

    def _write(self, records: list[Record]) -> None:
        if not records:
            return
        if self._writer is None:
            self._writer = Writer(self.path)
        self._writer.write(records)

    def _give_up(self, error: Exception) -> None:
        """Say so in the file; what it lacks would otherwise look like what did not happen."""
        self.muted = True
        reason = f"{type(error).__name__}: {error}"
        with suppress(OSError):
            self._write([{"record": "probe", "name": "recorder", "state": "failed", "reason": reason}])

    def _changed(self) -> Iterable[Record]:
        for counter in self.scopes.settle():
            self._touch(counter)
        extra = [record for source in list(self.sources) for record in self._asked(source)]
        pending, self._pending = self._pending, []
        yield from pending
        unresolved, self._unresolved = self._unresolved, []
        for number, key in unresolved:
            yield self._site_record(number, key)
        definitions, self._definitions = self._definitions, []
        yield from definitions
        touched, self._touched = self._touched, []
        for counter in touched:
            counter.dirty = False
            yield self.scopes.loops.told(counter)
        yield from extra

    def _asked(self, source: Callable[[], Iterable[Record] | None]) -> list[Record]:
        """What a source has to say; one that fails is not asked again, and the run goes on."""
        try:
            return list(source() or ())
        except Exception as error:  # noqa: BLE001 -- the border of a probe
            self.sources.remove(source)
            name = getattr(source, "__qualname__", "a source").partition(".")[0].strip("_").lower()
            return [{"record": "probe", "name": name, "state": "failed", "reason": f"{type(error).__name__}: {error}"}]

    def _site_record(self, number: int, key: Key) -> Record:
        site = self.sites.resolve(key)
        place = site.place
        return {
            "record": "site",
            "id": number,
            "path": place.path,
            "line": place.line,
            "column": place.column,
            "end_line": place.end_line,
            "end_column": place.end_column,
            "function": place.function,
            "via": [site.via.path, site.via.line] if site.via is not None else None,
        }

    def _schedule(self) -> None:
        self._flushes += 1
        now = perf_counter()
        interval = _FLUSH_EVERY_S
        if self._flushes > _FLUSHES_AT_FULL_RATE:
            interval = max(interval, (now - self._started) / _FLUSHES_AT_FULL_RATE)
        self.next_flush = now + interval

    def forked(self, restart: Iterable[Callable[[], None]] = ()) -> None:
        """In a forked child: what the parent counted is the parent's; this process has a file of its own."""
        self.lock = threading.RLock()
        self.path = path_of_child(self._family, os.getpid())
        self._header["primary"] = False
        self._start_over(restart, matters=False)

    def record_anew(self, path: str, header: Mapping[str, Any], restart: Iterable[Callable[[], None]] = ()) -> None:
        """Forget what was counted, and go on in another file, with `header` in place of what it said before."""
        with self.lock:
            self.path = self._family = path
            self._header |= header
            self._start_over(restart, matters=True)
            self.muted = False
            self.flush()

    def pause(self) -> None:
        """Write what is left, then record nothing until `record_anew`."""
        self.flush()
        with self.lock:
            self.muted = True
            self.deferring = False
            self._log.clear()

    def _start_over(self, restart: Iterable[Callable[[], None]], *, matters: bool) -> None:
        self.scopes.restart()
        self._reset(matters)
        for again in restart:
            again()


def path_of_child(path: str, pid: int) -> str:
    """Where a process that the watched one started writes: `run.events.jsonl` -> `run.<pid>.events.jsonl`."""
    return f"{path.removesuffix(SUFFIX)}.{pid}{SUFFIX}"
