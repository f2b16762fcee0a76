"""How long training waits for data: the time inside `next()` of a DataLoader's iterator.

Also where each loader was made and with what settings; and, with no workers, how much of the fetch the main thread
was computing (its CPU time) rather than waiting for storage.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator
from math import isnan, nan
from threading import get_ident
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record
from torchperf_lint.runtime.probes._fetch_cost import queued_ms
from torchperf_lint.runtime.probes._loader_settings import settings_of

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from torchperf_lint.runtime.scopes import Scope
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key
    from torchperf_lint.runtime.timeline import Moment

NAME = "loader"
_BLOCK = 512
"""Bytes in what getrusage counts as a block, on Linux."""
_SLOTS = ("batches", "epochs", "wait_ms", "steady_batches", "steady_wait_ms", "first_wait_ms", "start_ms", "cpu_ms")


_Began = tuple["Watched | None", "Key | None", float, float, "int | None", float]
_LONG_MS = 0.5
"""Asking the kernel what a thread waited for costs some 10 us, so it is asked only after waits as long as this."""
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
        self.last_wait_ms = 0.0
        self.background = False
        """Whether a thread other than the training one reads it."""
        self.changed = True

    def record(self) -> Record:
        """Counters, and once the settings: `wait_ms` of all batches, `first_wait_ms` of the first of each pass."""
        settings, self.settings = self.settings, {}
        figures = {name: round(value, 3) for name, value in self.figures.items()}
        rest = {
            "read_bytes": self.read_bytes,
            "queued_ms": None if self.queued_ms is None else round(self.queued_ms, 3),
            "queued_of_ms": round(self.queued_of_ms, 3),
            "background": self.background,
        }
        return {"record": "loader", "id": self.number, **settings, **figures, **rest}


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
        watched = Watched(len(self._all) + 1, settings_of(loader), site)
        self._known[id(loader)] = (weakref.ref(loader), watched)
        self._all.append(watched)
        return watched

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
    del torch
    loaders = session.loaders = Loaders(session)
    session.restarts.append(loaders.restart)
    session.recorder.sources.append(loaders.records)
    session.after_import("torch.utils.data.dataloader", lambda module: _watch(session, loaders, module))
    return None


def _watch(session: Session, loaders: Loaders, module: Any) -> None:  # noqa: ANN401
    _watch_construction(session, loaders, module.DataLoader)
    _watch_iter(session, loaders, module.DataLoader)
    _watch_next(session, loaders, module._BaseDataLoaderIter)


def _watch_construction(session: Session, loaders: Loaders, cls: Any) -> None:  # noqa: ANN401
    original = cls.__init__
    note = session.guarded(NAME, lambda loader: loaders.of(loader, session.sites.key()))

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        original(self, *args, **kwargs)
        note(self)

    cls.__init__ = init


def _watch_iter(session: Session, loaders: Loaders, cls: Any) -> None:  # noqa: ANN401
    """The start of a pass: workers are started and the first indices sent here."""
    original = cls.__iter__
    timeline = session.timeline
    begins = session.guarded(NAME, lambda: timeline.iter_begins(session.sites.key()))

    def ended(loader: Any, iterator: Any, started: float) -> None:  # noqa: ANN401
        iterator._torchperf_lint_scope = timeline.iter_ends(session.sites.key(), iterator)
        watched = loaders.of(loader)
        watched.figures["epochs"] += 1
        watched.figures["start_ms"] += (perf_counter() - started) * 1000
        iterator._torchperf_lint = watched
        iterator._torchperf_lint_first = True

    ends = session.guarded(NAME, ended)

    @functools.wraps(original)
    def iter_(self: Any) -> Any:  # noqa: ANN401
        begins()
        started = perf_counter()
        iterator = original(self)
        ends(self, iterator, started)
        return iterator

    cls.__iter__ = iter_


def _watch_next(session: Session, loaders: Loaders, cls: Any) -> None:  # noqa: ANN401
    original = cls.__next__
    fetches = _Fetches(session, loaders)

    @functools.wraps(original)
    def next_(self: Any) -> Any:  # noqa: ANN401
        began, got = None, False
        try:
            began = fetches.begins(self)
        except Exception as error:
            if not session.is_blamed(NAME, error):
                raise
        try:
            batch = original(self)
            got = True
            return batch
        finally:
            if began is not None:
                _guarded_end(session, fetches, self, began, got)

    cls.__next__ = next_


def _guarded_end(session: Session, fetches: _Fetches, iterator: Any, began: _Began, got: bool) -> None:  # noqa: ANN401
    try:
        fetches.ends(iterator, began, got)
    except Exception as error:
        if not session.is_blamed(NAME, error):
            raise


class _Fetches:
    """One `next()`: its wait, and the thread's CPU time in it."""

    def __init__(self, session: Session, loaders: Loaders) -> None:
        self.session = session
        self.loaders = loaders
        self._later, self._sites, self._clock = session.recorder.later, session.sites, session.timeline.clock
        self._mark_begin = session.guarded(NAME, session.timeline.fetch_begins)
        self._mark_end = session.guarded(NAME, self._ended)

    def begins(self, iterator: Any) -> _Began:  # noqa: ANN401
        watched = getattr(iterator, "_torchperf_lint", None)
        queued, blocks = nan, None
        if watched is not None and watched.last_wait_ms >= _LONG_MS:
            queued, blocks = queued_ms(), _blocks_read()
        key, thread = self._sites.key(), get_ident()
        cpu = thread_time()
        started = self._clock()
        self._later(self._mark_begin, key, (started, thread))
        return watched, key, started, cpu, blocks, queued

    def ends(self, iterator: Any, began: _Began, got: bool) -> None:  # noqa: ANN401
        watched, key, started, cpu, blocks, queued = began
        now = self._clock()
        wait_ms, cpu_ms = (now - started) * 1000, (thread_time() - cpu) * 1000
        first = False
        if watched is not None and got:
            _look(watched, wait_ms, blocks, queued)
            first, iterator._torchperf_lint_first = iterator._torchperf_lint_first, False
        scope = getattr(iterator, "_torchperf_lint_scope", None) or self.session.timeline.scope_of(iterator)
        self._later(self._mark_end, watched, scope, (key, got, first), (wait_ms, cpu_ms), (now, get_ident()))

    def _ended(
        self,
        watched: Watched | None,
        scope: Scope,
        what: tuple[Key | None, bool, bool],
        spent: tuple[float, float],
        moment: Moment,
    ) -> None:
        key, got, first = what
        timeline = self.session.timeline
        if watched is not None and got:
            watched.background = not timeline.is_training(moment[1])
            self._count(watched, first, *spent)
        timeline.fetch_ends(key, scope, got, moment)

    def _count(self, watched: Watched, first: bool, ms: float, cpu_ms: float) -> None:
        figures = watched.figures
        figures["batches"] += 1
        figures["wait_ms"] += ms
        figures["cpu_ms"] += cpu_ms
        if first:
            figures["first_wait_ms"] += ms
        elif self.session.recorder.scopes.steady:
            figures["steady_batches"] += 1
            figures["steady_wait_ms"] += ms
        watched.changed = True


def _look(watched: Watched, ms: float, blocks: int | None, queued: float) -> None:
    """What the kernel says of a long wait."""
    watched.last_wait_ms = ms
    if not isnan(queued):
        _count_queue(watched, ms, queued)
    if blocks is not None:
        watched.read_bytes = (watched.read_bytes or 0) + ((_blocks_read() or blocks) - blocks) * _BLOCK


def _count_queue(watched: Watched, ms: float, before: float) -> None:
    spent = queued_ms() - before
    if not isnan(spent):
        watched.queued_ms = (watched.queued_ms or 0.0) + spent
        watched.queued_of_ms += ms


def _blocks_read() -> int | None:
    """Blocks that this thread has had read from storage; None where the system does not count them."""
    return resource.getrusage(resource.RUSAGE_THREAD).ru_inblock if _COUNTS_BLOCKS else None
