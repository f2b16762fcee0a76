"""`no_syncs()`: a block of code, or a function, that says how often it may make the host wait for the device."""

from __future__ import annotations

import functools
import inspect
import linecache
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from torchperf_lint.errors import CannotSeeSyncsError, SyncsFoundError
from torchperf_lint.runtime import simulated
from torchperf_lint.runtime.probes import _listening
from torchperf_lint.runtime.sites import Key, Sites
from torchperf_lint.waits import SyncSite

Function = TypeVar("Function", bound=Callable[..., Any])
_MOST_SITES = 20
_ERROR = "error"
_DEBUG_MESSAGE = "called a synchronizing CUDA operation"
_NOTE = "torchperf_lint: no_syncs(immediate=True) has torch raise at the line that waits for the device"
_LATER = (
    (inspect.iscoroutinefunction, "a coroutine function"),
    (inspect.isasyncgenfunction, "an asynchronous generator"),
    (inspect.isgeneratorfunction, "a generator"),
    (inspect.isclass, "a class"),
)
"""What runs, or makes something that runs, after the call has returned."""


def no_syncs(at_most: int = 0, *, immediate: bool = False) -> NoSyncs:
    """A context manager and decorator: the block may make the host wait for the device `at_most` times.

    At the block's end SyncsFoundError names every line that waited, how often and for what. An exception of the block
    itself goes on as it is. Counted is what the thread of the block does, what threads do that were started in it, and
    what autograd's own threads do meanwhile; inner blocks count for outer ones as well.

    `immediate`: have torch raise its own RuntimeError at the first such line, by `torch.cuda.set_sync_debug_mode`,
    whose earlier mode comes back at the end. Waits that this mode does not know (`torch.cuda.synchronize()`, events)
    are found at the block's end as always.

    Entering raises CannotSeeSyncsError where there is no CUDA device, real or simulated.
    """
    return NoSyncs(at_most, immediate)


class NoSyncs:
    """What `no_syncs` makes; after the block (and within) it says what was seen."""

    def __init__(self, at_most: int = 0, immediate: bool = False) -> None:
        if callable(at_most):
            raise TypeError("write `@no_syncs()`, with parentheses")
        if isinstance(at_most, bool) or not isinstance(at_most, int) or at_most < 0:
            raise TypeError(f"at_most is how many synchronisations are allowed, 0 or more, not {at_most!r}")
        if immediate and at_most:
            raise TypeError("immediate=True stops at the first synchronisation: it cannot allow any")
        self.at_most = at_most
        self.immediate = immediate
        self._block: _Block | None = None
        self._is_open = False

    @property
    def sites(self) -> tuple[SyncSite, ...]:
        """Where the host waited so far, the most frequent first."""
        return self._block.sites() if self._block is not None else ()

    @property
    def count(self) -> int:
        """How often the host waited so far."""
        return sum(site.count for site in self.sites)

    def __call__(self, function: Function) -> Function:
        """Guard each call of a function or method, by a block of its own."""
        for is_that, name in _LATER:
            if is_that(function):
                raise TypeError(f"no_syncs() cannot guard {name}: use `with no_syncs():` around the code that runs")

        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            __tracebackhide__ = True
            with NoSyncs(self.at_most, self.immediate):
                return function(*args, **kwargs)

        return guarded  # type: ignore[return-value]

    def __enter__(self) -> NoSyncs:
        """Begin to count. Raises CannotSeeSyncsError, and RuntimeError if this very guard is open already."""
        __tracebackhide__ = True
        if self._is_open:
            raise RuntimeError("this guard is open already: call no_syncs() again for a block within")
        reason = _listening.why_deaf()
        if reason is not None:
            raise CannotSeeSyncsError(f"nothing can see a synchronisation here: {reason}")
        self._block = _Block()
        if self.immediate:
            _RAISING.begin()
        _listening.EARS.listen(self._block)
        self._is_open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Raises SyncsFoundError, unless the block itself has raised."""
        __tracebackhide__ = True
        block = self._block
        if block is None:
            return
        self._is_open = False
        _listening.EARS.leave(block)
        if self.immediate:
            _RAISING.end()
        if error is not None:
            if self.immediate and isinstance(error, RuntimeError) and _DEBUG_MESSAGE in str(error):
                getattr(error, "add_note", id)(_NOTE)
            return
        if self.count > self.at_most:
            raise SyncsFoundError(_message(block, self.at_most), self.sites, self.at_most)
        if block.missed_calls:
            warnings.warn(
                f"the count of synchronisations may lack some; {_missed(block)}", category=UserWarning, stacklevel=2
            )


class _Block:
    """Counts the waits of one block."""

    def __init__(self) -> None:
        self._sites = Sites(None, os.getcwd())
        torch_directory = os.path.dirname(os.path.abspath(str(sys.modules["torch"].__file__)))
        self._sites.is_internal(torch_directory)
        self._lock = threading.RLock()
        self._counts: dict[tuple[str, Key | None], int] = {}
        self._thread = threading.get_ident()
        self._others = frozenset(threading.enumerate())
        self.missed_calls: dict[str, None] = {}

    def heard(self, what: str) -> None:
        if self._concerns(threading.get_ident()):
            key = self._sites.key(2, behind=self._thread)
            with self._lock:
                self._counts[what, key] = self._counts.get((what, key), 0) + 1

    def missed(self, what: str) -> None:
        if self._concerns(threading.get_ident()):
            self.missed_calls[what] = None

    def sites(self) -> tuple[SyncSite, ...]:
        """The most frequent first."""
        with self._lock:
            counts = list(self._counts.items())
        found: dict[SyncSite, int] = {}
        for (what, key), count in counts:
            site = self._site(what, key)
            found[site] = found.get(site, 0) + count
        sites = [replace(site, count=count) for site, count in found.items()]
        return tuple(sorted(sites, key=lambda s: (-s.count, s.path, s.line, s.what, s.via or ("", 0))))

    def absolute(self, path: str) -> str:
        """For reading the source of a site."""
        return self._sites.absolute(path)

    def _concerns(self, thread: int) -> bool:
        if thread == self._thread:
            return True
        # Python has not started the threads of autograd's engine, or keeps a dummy for them.
        known = threading._active.get(thread)  # type: ignore[attr-defined]
        return known is None or isinstance(known, threading._DummyThread) or known not in self._others

    def _site(self, what: str, key: Key | None) -> SyncSite:
        if key is None:
            return SyncSite("", 0, what, 0)
        site = self._sites.resolve(key)
        via = (site.via.path, site.via.line) if site.via is not None else None
        return SyncSite(site.place.path, site.place.line, what, 0, site.place.function, via)


class _Raising:
    """Has torch raise where it waits; blocks may overlap, and the user's own mode comes back after the last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._before: Any = None

    def begin(self) -> None:
        cuda = sys.modules["torch"].cuda
        with self._lock:
            if not self._depth:
                self._before = cuda.get_sync_debug_mode()
            cuda.set_sync_debug_mode(_ERROR)
            self._depth += 1

    def end(self) -> None:
        with self._lock:
            self._depth -= 1
            if not self._depth:
                sys.modules["torch"].cuda.set_sync_debug_mode(self._before)


_RAISING = _Raising()


def _message(block: _Block, at_most: int) -> str:
    sites = block.sites()
    count = sum(site.count for site in sites)
    device = "simulated device" if simulated.is_installed() else "device"
    allowed = f"at most {at_most} {'is' if at_most == 1 else 'are'}" if at_most else "none is"
    head = f"{count} synchronisation{'s' * (count != 1)} with the {device} where {allowed} allowed:"
    lines = [head, *_rows(sites[:_MOST_SITES], block)]
    if len(sites) > _MOST_SITES:
        lines.append(f"  and {len(sites) - _MOST_SITES} more lines")
    if block.missed_calls:
        lines.append(f"There may be more; {_missed(block)}")
    return "\n".join(lines)


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _rows(sites: tuple[SyncSite, ...], block: _Block) -> Iterator[str]:
    """A line of text for each site, and below it the line of code."""
    for site in sites:
        place = f"{_short(site.path)}:{site.line}" if site.path else "no line of Python"
        via = f", called from {site.via[0]}:{site.via[1]}" if site.via is not None else ""
        yield f"  {place}: {_times(site.count)}, {site.what}{via}"
        code = linecache.getline(block.absolute(site.path), site.line).strip() if site.path else ""
        if code:
            yield f"    {code}"


def _short(path: str) -> str:
    for installed in ("/site-packages/", "/dist-packages/"):
        _, found, rest = f"/{path}".rpartition(installed)
        if found:
            return f"in package {rest}"
    return path


def _missed(block: _Block) -> str:
    return f"the simulation cannot do this: {'; '.join(block.missed_calls)}"
