"""Where the simulated device's kernels say what happened."""

from __future__ import annotations

import sys
import warnings
from types import FrameType
from typing import Any

from torchperf_lint.runtime.simulated import Sink

WARN, ERROR = 1, 2
"""The modes of `torch.cuda.set_sync_debug_mode`, beside 0."""

_UNSEEN = {"device-synchronize", "event-synchronize"}
"""What torch's sync debug mode does not look at."""


_OURS = ("torch.", "torchperf_lint.runtime.simulated")


class Reports:
    """Passes events on to the sink; things that cannot be simulated are said once each."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._listeners: tuple[Sink, ...] = ()
        self._said: set[str] = set()
        self.debug_mode = 0

    def connect(self, sink: Sink) -> None:
        """From now on events go to `sink`."""
        self._sink = sink

    @property
    def connected(self) -> bool:
        """Whether there is a simulated device."""
        return self._sink is not None

    def listen(self, sink: Sink) -> None:
        """Events go to `sink`, too."""
        self._listeners = (*self._listeners, sink)

    def leave(self, sink: Sink) -> None:
        """They no longer do."""
        self._listeners = tuple(other for other in self._listeners if other is not sink)

    def sync(self, what: str) -> None:
        """The host waits for the device. Raises RuntimeError where the script asked torch to (sync debug mode)."""
        if self._sink is not None:
            self._sink.sync(what)
            for listener in self._listeners:
                listener.sync(what)
        if self.debug_mode and what not in _UNSEEN:
            self._debug()

    def copy(self, direction: str, nbytes: int, *, pinned: bool = False, blocking: bool = True) -> None:
        """A copy between host and device; a blocking one is a synchronisation, too."""
        if self._sink is not None:
            self._sink.copy(direction, nbytes, pinned, blocking)
            for listener in self._listeners:
                listener.copy(direction, nbytes, pinned, blocking)
        if blocking:
            self.sync("copy")

    def unsupported(self, what: str) -> None:
        """Say once that `what` cannot be simulated faithfully; to listeners, which come and go, each time."""
        for listener in self._listeners:
            listener.unsupported(what)
        if self._sink is not None and what not in self._said:
            self._said.add(what)
            self._sink.unsupported(what)

    def _debug(self) -> None:
        if self.debug_mode == ERROR:
            raise RuntimeError("called a synchronizing CUDA operation")
        warnings.warn("called a synchronizing CUDA operation", UserWarning, stacklevel=_depth())


def _depth() -> int:
    """How many frames up, for `warnings.warn`, the first frame outside torch and this package is."""
    frame: FrameType | None = sys._getframe(1)
    depth = 1
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame, depth = frame.f_back, depth + 1
    return depth


REPORTS = Reports()


def cannot(op: Any, reason: str = "") -> RuntimeError:  # noqa: ANN401
    """Report an operator that the simulation lacks, and the error to raise for it."""
    what = f"{op.name().split('::')[1]} has no kernel on the simulated CUDA device"
    if "not implemented for" in reason:
        what += f": {reason.splitlines()[0]}"
    REPORTS.unsupported(what)
    return RuntimeError(what)
