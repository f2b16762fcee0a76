"""Hears of each synchronisation of this process while somebody listens, whether or not a session records it.

Unlike a probe, this comes and goes: nothing is left in torch but the activation of its callbacks, and that costs a C
call for each allocation.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Protocol

from torchperf_lint.runtime import simulated
from torchperf_lint.runtime.probes._callbacks import Trace
from torchperf_lint.runtime.probes._profilers import Profilers
from torchperf_lint.untold import counts_without

_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
_TRIED = (
    "simulate one (`torchperf_lint.simulate()` before the code under test is imported, `pytest --torchperf-simulate`, "
    "or `torchperf-lint --runtime --simulate script.py`)"
)
_COPIES = {"h2d": "copy to device", "d2h": "copy to host"}


class Listener(Protocol):
    """Whoever wants to hear."""

    def heard(self, what: str) -> None:
        """The host is about to wait for the device, on this thread."""

    def missed(self, what: str) -> None:
        """The simulated device cannot do this as a card would: counts around it are not complete."""


def why_deaf() -> str | None:
    """Why nothing can see a synchronisation in this process; None if something can. Imports torch, opens no device."""
    try:
        import torch
    except ImportError as error:
        return f"torch cannot be imported: {error}"
    if simulated.is_installed():
        return None
    if not hasattr(torch._C, "_cuda_getDeviceCount"):
        return f"torch {torch.__version__} is built without CUDA: use a build that has it, or {_TRIED}"
    if torch.cuda.device_count() == 0:
        return f"torch sees no CUDA device: run where there is one, or {_TRIED}"
    if Trace.of(torch) is None:
        return f"torch {torch.__version__} has no callbacks for synchronisations (2.0 or later has)"
    return None


class Ears:
    """All who listen in this process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._listeners: tuple[Listener, ...] = ()
        self._stop: Callable[[], None] | None = None
        self._profilers: Profilers | None = None

    def listen(self, listener: Listener) -> None:
        """Tell `listener` of each synchronisation from now on. Ask `why_deaf` first."""
        with self._lock:
            self._listeners = (*self._listeners, listener)
            if self._stop is None:
                self._stop = self._begin()

    def leave(self, listener: Listener) -> None:
        """Tell `listener` no more."""
        with self._lock:
            self._listeners = tuple(other for other in self._listeners if other is not listener)
            if not self._listeners and self._stop is not None:
                stop, self._stop = self._stop, None
                stop()

    def _begin(self) -> Callable[[], None]:
        import torch

        from torchperf_lint.runtime.probes import _dynamo

        self._profilers = Profilers(os.path.dirname(torch.__file__))
        # The border to torch's internals: without it, a compiled step is slower under our eye, and no less seen.
        with contextlib.suppress(Exception):
            _dynamo.leave_alone(torch, set())
        if simulated.is_installed():
            sink = _Sink(self.tell, self._tell_missed)
            simulated.listen(sink)
            return lambda: simulated.leave(sink)
        trace = Trace.of(torch)
        if trace is None:
            return lambda: None
        remove = trace.add(self._about_to_wait)
        trace.activate()
        return remove

    def _about_to_wait(self, what: str) -> None:
        if self._profilers is None or not self._profilers.wait_in(_waiting()):
            self.tell(what)

    def tell(self, what: str) -> None:
        """Everybody hears of a synchronisation."""
        for listener in self._listeners:
            listener.heard(what)

    def _tell_missed(self, what: str) -> None:
        if counts_without(what):
            return
        for listener in self._listeners:
            listener.missed(what)


EARS = Ears()


class _Sink:
    """A blocking copy is told as two events, of which the second is the wait: here it gets its direction."""

    def __init__(self, tell: Callable[[str], Any], tell_missed: Callable[[str], Any]) -> None:
        self._tell = tell
        self._copied = threading.local()
        self.unsupported = tell_missed

    def sync(self, what: str) -> None:
        if what == "copy":
            what = getattr(self._copied, "way", what)
        self._tell(what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        del nbytes, pinned
        if blocking:
            self._copied.way = _COPIES.get(direction, "copy")


def _waiting() -> FrameType | None:
    """The frame whose C call waits: below it stand ours, and torch's that called us."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename.startswith(_OURS) or frame.f_code.co_name in _HANDING_ON):
        frame = frame.f_back
    return frame


_HANDING_ON = ("fire_callbacks",)
