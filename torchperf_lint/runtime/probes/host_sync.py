"""Where the host waits for the device, and how long: torch's own callbacks before each synchronisation.

`torch.cuda._gpu_trace` calls back from C++ before the host waits for a stream, an event or the whole device, on
whatever thread: `.item()`, `bool()`, blocking copies, `nonzero`, mask indexing, `torch.cuda.synchronize()`. It does
not see what calls CUDA directly, the allocator's own waits, or copies from pageable memory with `non_blocking=True`.

The time is from the callback until the interpreter goes on (see `_resuming`): waits on the main thread, outside of
`backward()`, have a time; for others it is None. Where one C call waits and then works on (a scripted module), the
work is in the time: it is an upper bound. `set_sync_debug_mode("warn")`, which could tell the end of a wait, is left
to the script: in operators of C++ extensions its warnings go straight to the terminal.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from functools import partial
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime import anomaly
from torchperf_lint.runtime.probes import _cuda, _waits
from torchperf_lint.runtime.probes._callbacks import Trace
from torchperf_lint.runtime.probes._profilers import Profilers
from torchperf_lint.runtime.probes._resuming import on_resume
from torchperf_lint.waits import IN_SEARCH

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NAME = "host-sync"


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Have torch call back before each wait; the simulated device reports its own."""
    if session.simulated:
        return None
    if not _cuda.is_built(torch):
        return _cuda.NO_CUDA
    trace = Trace.of(torch)
    if trace is None:
        return f"torch {torch.__version__} has no callbacks for synchronisations (2.0 or later has)"
    syncs = Syncs(session, os.path.dirname(torch.__file__), partial(anomaly.looks_for_nan, torch))
    session.restarts.append(syncs.restart)
    atexit.register(syncs.stop_timing)

    def begin() -> None:
        trace.watch(syncs.about_to_wait)
        trace.activate()

    return _cuda.watch_once_opened(session, torch, NAME, begin)


class Syncs:
    """Counts waits, and times those of the main thread."""

    def __init__(
        self, session: Session, torch_directory: str, searches: Callable[[], bool] = lambda: False
    ) -> None:
        """`searches`: whether backward passes search their gradients for NaN now."""
        self.session = session
        self._searches = searches
        self.waits = _waits.of(session)
        self.about_to_wait = session.guarded(NAME, self._about_to_wait)
        self._asking = on_resume(session.guarded(NAME, self._resumed))
        self._profilers = Profilers(torch_directory)
        self.restart()

    def restart(self) -> None:
        """A forked child: its only thread is its main thread."""
        self._main = threading.main_thread().ident
        self._begun: tuple[str, Key | None, float] | None = None

    def stop_timing(self) -> None:
        """The interpreter ends: it may not come back to us any more."""
        self._asking = None

    def _about_to_wait(self, what: str, frame: FrameType | None) -> object:
        """Called before the wait, with the frame whose C call waits; None on threads that run no Python."""
        recorder = self.session.recorder
        if recorder.muted or self._profilers.wait_in(frame):
            return None
        key = self.session.sites.key()
        of_engine = anomaly.is_of_engine(frame)
        if of_engine and self._searches():
            what = IN_SEARCH
        if self.session.mark is not None:
            self.session.mark(f"sync:{recorder.site(key) or 0}:{what}")
        if self._asking is None or threading.get_ident() != self._main or of_engine:
            recorder.event("sync", what, key=key)
            return None
        now = perf_counter()
        self._ended(now)
        self._begun = (what, key, now)
        return self._asking()

    def _resumed(self) -> None:
        self._ended(perf_counter())

    def _ended(self, now: float) -> None:
        """The wait is over; if the same C call waits once more, its first wait ends where the second begins."""
        begun, self._begun = self._begun, None
        if begun is not None:
            what, key, since = begun
            ms = (now - since) * 1000
            self.session.recorder.event("sync", what, ms=ms, key=key)
            self.waits.waited(ms)
