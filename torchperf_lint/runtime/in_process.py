"""A session in a process that started without one: for a block of a script or a notebook, and again for the next.

Probes cannot be taken out of torch. They are put in once, and sleep between two watches.
"""

from __future__ import annotations

import os
import threading

from torchperf_lint.errors import AlreadyWatchedError
from torchperf_lint.runtime import session as sessions
from torchperf_lint.runtime import simulated
from torchperf_lint.runtime.imports import after_import
from torchperf_lint.runtime.session import Session

_LOCK = threading.Lock()
_ours: list[Session] = []
"""The last one is in use; an earlier one was made before the process got a simulated device, and sleeps."""
_watching: list[int] = []
"""The id of the process while it is watched: a forked child is not."""


def begin(events: str, warmup: int) -> Session:
    """Record this process into `events` until `end`. Raises AlreadyWatchedError."""
    with _LOCK:
        if sessions.running:
            raise AlreadyWatchedError("this process is watched by `torchperf-lint --runtime` already")
        if _watching == [os.getpid()]:
            raise AlreadyWatchedError("this process is being watched already: one watch() must end before the next")
        _watching[:] = [os.getpid()]
    try:
        return _begun(events, warmup)
    except BaseException:
        _watching.clear()
        raise


def end(session: Session) -> None:
    """Write what is left, and let the probes sleep."""
    watching = getattr(vars(session).get("lines"), "watching", None)
    if watching is not None:
        watching.pause()
    session.recorder.pause()
    _watching.clear()


def _begun(events: str, warmup: int) -> Session:
    simulate = simulated.is_installed()
    if not _ours or _ours[-1].simulated != simulate:
        session = _made(events, warmup, simulate)
        _ours.append(session)
        return session
    session = _ours[-1]
    session.timeline.warmup = warmup
    header = {"cwd": os.getcwd(), "settings": {"warmup": warmup, "steps": None}}
    session.recorder.record_anew(events, header, session.restarts)
    return session


def _made(events: str, warmup: int, simulate: bool) -> Session:
    spec = {
        "events": events,
        "owner_pid": os.getppid(),
        "simulate": simulate,
        "warmup": warmup,
        "project_root": None,
        "in_process": True,
    }
    session = Session(spec)
    os.register_at_fork(after_in_child=lambda: session.recorder.forked(session.restarts))
    sessions.watch_lines(session)
    after_import("torch", session.install, on_error=lambda error: session.failed("session", error))
    return session
