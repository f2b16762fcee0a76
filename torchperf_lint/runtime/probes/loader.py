"""How long training waits for data: the time inside `next()` of a DataLoader's iterator.

Also where each loader was made and with what settings; and, with no workers, how much of the fetch the main thread
was computing (its CPU time) rather than waiting for storage.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from math import isnan, nan
from sys import _getframe
from threading import get_ident
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record
from torchperf_lint.runtime.probes._by_hand import ByHand
from torchperf_lint.runtime.probes._fetch_cost import queued_ms, time_collating
from torchperf_lint.runtime.probes._loader_settings import code_of_collate, code_of_items, settings_of
from torchperf_lint.runtime.sites import PROJECT, Spot

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from torchperf_lint.runtime.scope import Scope
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key, Remembered

NAME = "loader"
_BLOCK = 512
"""Bytes in what getrusage counts as a block, on Linux."""
_SLOTS = (
    *("batches", "epochs", "wait_ms", "steady_batches", "steady_wait_ms", "first_wait_ms", "start_ms"),
    *("cpu_ms", "cpu_of_ms", "collate_ms", "collated"),
)
_Asked = tuple[float, "int | None", float]
"""Answers of the kernel before a wait: ms in its queues, blocks read, seconds of CPU time."""
_Wait = tuple["Watched | None", float, "float | None", bool]
"""The loader that a batch came from, if it is known, the ms it took, ms of CPU time in them, and whether it is the
first of its pass."""
_SHORT_MS, _LONG_MS = 0.05, 0.5
"""Asking the kernel what a thread has computed costs 2 us, and what it waited for some 10: asked only after waits as
long as these, so that it is little beside the wait."""
_COUNTS_BLOCKS = resource is not None and hasattr(resource, "RUSAGE_THREAD")


class Watched:
    """One DataLoader: its settings and what has been counted."""

    def __init__(self, number: int, settings: Record, site: int | None) -> None:
        self.number = number
        self.site = site
        self.settings = settings | {"site": site}
        self.figures: dict[str, float] = dict.fromkeys(_SLOTS, 0)
        self.read_bytes: float | None = None
        """What the kernel fetched from storage for the waiting thread, after long waits; None where it is silent."""
        self.queued_ms: float | None = None
        """Time the waiting thread was ready and had no core, within `queued_of_ms` of its waits."""
        self.queued_of_ms = 0.0
        self.last_wait_ms = _SHORT_MS
        self.begun: dict[int, list[int]] = {}
        """By the site where passes begin: how many did, and how many batches those gave."""
        self.background = False
        """Whether a thread other than the training one reads it."""
        self.changed = True

    def count(self, ms: float, cpu_ms: float | None, first: bool, steady: bool) -> None:
        """A batch has come after so many ms; `cpu_ms`: None where nobody asked; `first` of its pass."""
        figures = self.figures
        figures["batches"] += 1
        figures["wait_ms"] += ms
        if cpu_ms is not None:
            figures["cpu_ms"] += cpu_ms
            figures["cpu_of_ms"] += ms
        if first:
            figures["first_wait_ms"] += ms
        elif steady:
            figures["steady_batches"] += 1
            figures["steady_wait_ms"] += ms
        self.changed = True

    def collate(self, ms: float, samples: int) -> None:
        """Samples were put together in the training process."""
        self.figures["collate_ms"] += ms
        self.figures["collated"] += samples

    def record(self) -> Record:
        """Counters, and once the settings: `wait_ms` of all batches, `first_wait_ms` of the first of each pass."""
        settings, self.settings = self.settings, {}
        figures = {name: round(value, 3) for name, value in self.figures.items()}
        rest = {
            "read_bytes": self.read_bytes,
            "queued_ms": None if self.queued_ms is None else round(self.queued_ms, 3),
            "queued_of_ms": round(self.queued_of_ms, 3),
            "background": self.background,
            "begun": [[site, *counts] for site, counts in self.begun.items()],
        }
        return {"record": "loader", "id": self.number, **settings, **figures, **rest}


class _Reading:
    """One pass over a loader, kept on its iterator."""

    __slots__ = ("begun", "first", "scope", "watched")

    def __init__(self, watched: Watched, scope: Scope, site: int | None) -> None:
        """`site`: where it begins."""
        self.watched = watched
        self.scope = scope
        self.begun = watched.begun.setdefault(site or 0, [0, 0])
        self.begun[0] += 1
        self.first = True
        """Whether its next batch is its first."""


class Loaders:
    """All DataLoaders of the process, by identity; kept after they are gone."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.restart()

    def restart(self) -> None:
        """A forked child has its own."""
        self._known: dict[int, tuple[weakref.ref[Any], Watched]] = {}
        self._all: list[Watched] = []

    def of(self, loader: Any, key: Key | None = None) -> Watched:  # noqa: ANN401
        """What is kept about `loader`; made when it is first seen."""
        entry = self._known.get(id(loader))
        if entry is not None and entry[0]() is loader:
            return entry[1]
        first = self._made_again(loader) if key is not None and key.via is not None else None
        site = self.session.recorder.site(key) if first is None else first.site
        settings = settings_of(loader) | self._parts(loader)
        watched = Watched(len(self._all) + 1, settings, site)
        self._known[id(loader)] = (weakref.ref(loader), watched)
        self._all.append(watched)
        return watched

    def _parts(self, loader: Any) -> Record:  # noqa: ANN401
        """What gives samples and what puts them together: its name, and its site where it is the project's."""
        parts: Record = {}
        for name, (said, code) in (("items", code_of_items(loader)), ("collate", code_of_collate(loader))):
            is_ours = code is not None and self.session.sites.kind_of(code.co_filename) == PROJECT
            spot = Spot(code.co_filename, code.co_firstlineno, said or "") if is_ours and code is not None else None
            parts |= {name: said, f"{name}_site": self.session.recorder.site(spot)}
        return parts

    def _made_again(self, loader: Any) -> Watched | None:  # noqa: ANN401
        """The unread loader that a package makes another from, of the same batches or data: its place is where to look.

        Accelerate does so in `prepare()`.
        """
        same_data = None
        for reference, watched in reversed(self._known.values()):
            other = reference()
            if other is None or watched.figures["epochs"]:
                continue
            if other.batch_sampler is not None and other.batch_sampler is loader.batch_sampler:
                return watched
            if same_data is None and other.dataset is loader.dataset:
                same_data = watched
        return same_data

    def records(self) -> Iterator[Record]:
        """Loaders whose counters changed."""
        for watched in self._all:
            if watched.changed:
                watched.changed = False
                yield watched.record()


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch construction, `iter()` and `next()` of every DataLoader."""
    loaders = session.loaders = Loaders(session)
    session.restarts.append(loaders.restart)
    session.recorder.sources.append(loaders.records)
    by_hand = ByHand(session, torch, NAME)
    session.restarts.append(by_hand.restart)
    session.after_import("torch.utils.data.dataloader", lambda module: _watch(session, loaders, by_hand, module))
    return None


def _watch(session: Session, loaders: Loaders, by_hand: ByHand, module: Any) -> None:  # noqa: ANN401
    _watch_construction(session, loaders, module.DataLoader)
    _watch_iter(session, loaders, by_hand, module.DataLoader)
    _watch_next(session, module._BaseDataLoaderIter)


def _watch_construction(session: Session, loaders: Loaders, cls: Any) -> None:  # noqa: ANN401
    original = cls.__init__
    note = session.guarded(NAME, lambda loader: loaders.of(loader, session.sites.key()))

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        original(self, *args, **kwargs)
        note(self)

    cls.__init__ = init


def _watch_iter(session: Session, loaders: Loaders, by_hand: ByHand, cls: Any) -> None:  # noqa: ANN401
    """The start of a pass: workers are started and the first indices sent here."""
    original = cls.__iter__
    timeline = session.timeline
    begins = session.guarded(NAME, lambda: timeline.iter_begins(session.sites.key()))

    def ended(loader: Any, iterator: Any, started: float) -> None:  # noqa: ANN401
        watched, key = loaders.of(loader), session.sites.key()
        scope = timeline.iter_ends(key, iterator, watched, watched.site)
        by_hand.begins(watched)
        watched.figures["epochs"] += 1
        watched.figures["start_ms"] += (perf_counter() - started) * 1000
        iterator._torchperf_lint = _Reading(watched, scope, session.recorder.site(key))
        # Without workers the iterator makes batches itself, and with some it has none.
        time_collating(getattr(iterator, "_dataset_fetcher", None), watched.collate)

    ends = session.guarded(NAME, ended)

    @functools.wraps(original)
    def iter_(self: Any) -> Any:  # noqa: ANN401
        begins()
        started = perf_counter()
        iterator = original(self)
        ends(self, iterator, started)
        return iterator

    cls.__iter__ = iter_


def _watch_next(session: Session, cls: Any) -> None:  # noqa: ANN401
    """What is within runs for every batch: it makes no call that can be made later, or left out."""
    original = cls.__next__
    recorder, clock, sites = session.recorder, session.timeline.clock, session.sites
    put_off, ends = recorder.put_off, _Ends(session).at
    begins = session.guarded(NAME, session.timeline.fetch_begins)
    site: Remembered = (None, 0, None)

    @functools.wraps(original)
    def next_(self: Any) -> Any:  # noqa: ANN401
        nonlocal site
        began, got = None, False
        try:
            frame = _getframe(1)
            known = site
            if frame.f_code is not known[0] or frame.f_lasti != known[1]:
                site = known = sites.remembered(frame)
            del frame
            reading = getattr(self, "_torchperf_lint", None)
            asked = _ask(reading) if reading is not None and reading.watched.last_wait_ms >= _SHORT_MS else None
            scope = reading.scope if reading is not None else None
            began = clock()
            if recorder.deferring:
                put_off((begins, (known[2], began, get_ident(), scope)))
            else:
                begins(known[2], began, get_ident(), scope)
        except Exception as error:
            if not session.is_blamed(NAME, error):
                raise
        try:
            batch = original(self)
            got = True
            return batch
        finally:
            if began is not None:
                try:
                    ends(self, reading, known[2], got, began, asked)
                except Exception as error:
                    if not session.is_blamed(NAME, error):
                        raise

    cls.__next__ = next_


class _Ends:
    """The ends of `next()`: each batch's wait."""

    def __init__(self, session: Session) -> None:
        self._recorder, self._timeline, self._clock = session.recorder, session.timeline, session.timeline.clock
        self._mark = session.guarded(NAME, self._marks)

    def at(
        self,
        iterator: Any,  # noqa: ANN401
        reading: _Reading | None,
        key: Key | None,
        got: bool,
        began: float,
        asked: _Asked | None,
    ) -> None:
        """Called for each batch: what can be is put off."""
        now, watched = self._clock(), None
        first, cpu_ms = False, None
        if reading is None:
            scope = self._timeline.scope_of(iterator)
        else:
            scope = reading.scope
            if got:
                watched = reading.watched
                watched.last_wait_ms = (now - began) * 1000
                if asked is not None:
                    cpu_ms = _answers(watched, asked)
                first, reading.first = reading.first, False
                reading.begun[1] += 1
        wait = (watched, (now - began) * 1000, cpu_ms, first)
        arguments = (wait, scope, key, got, now, get_ident())
        if self._recorder.deferring:
            self._recorder.put_off((self._mark, arguments))
        else:
            self._mark(*arguments)

    def _marks(self, wait: _Wait, scope: Scope, key: Key | None, got: bool, at: float, thread: int) -> None:
        watched, ms, cpu_ms, first = wait
        if watched is not None:
            watched.background = not self._timeline.is_training(thread)
            watched.count(ms, cpu_ms, first, self._recorder.scopes.steady)
        self._timeline.fetch_ends(key, scope, got, at, thread)


def _ask(reading: _Reading) -> _Asked:
    """The kernel, before a wait: what the thread has waited for a core, has read, and has computed."""
    if reading.watched.last_wait_ms < _LONG_MS:
        return nan, None, thread_time()
    queued, blocks = queued_ms(), _blocks_read()
    return queued, blocks, thread_time()


def _answers(watched: Watched, asked: _Asked) -> float:
    """What the kernel says of the wait that is over; returns the CPU time in it, in ms."""
    queued, blocks, cpu = asked
    cpu_ms = (thread_time() - cpu) * 1000
    if not isnan(queued):
        _count_queue(watched, watched.last_wait_ms, queued)
    if blocks is not None:
        watched.read_bytes = (watched.read_bytes or 0) + ((_blocks_read() or blocks) - blocks) * _BLOCK
    return cpu_ms


def _count_queue(watched: Watched, ms: float, before: float) -> None:
    spent = queued_ms() - before
    if not isnan(spent):
        watched.queued_ms = (watched.queued_ms or 0.0) + spent
        watched.queued_of_ms += ms


def _blocks_read() -> int | None:
    """Blocks that this thread has had read from storage; None where the system does not count them."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_inblock if _COUNTS_BLOCKS else None
