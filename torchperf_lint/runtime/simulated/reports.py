"""Where the simulated device's kernels say what happened."""

from __future__ import annotations

from torchperf_lint.runtime.simulated import Sink


class Reports:
    """Passes events on to the sink; things that cannot be simulated are said once each."""

    def __init__(self) -> None:
        self._sink: Sink | None = None
        self._said: set[str] = set()

    def connect(self, sink: Sink) -> None:
        """From now on events go to `sink`."""
        self._sink = sink

    def sync(self, what: str) -> None:
        """The host waits for the device."""
        if self._sink is not None:
            self._sink.sync(what)

    def copy(self, direction: str, nbytes: int, *, pinned: bool = False, blocking: bool = True) -> None:
        """A copy between host and device; a blocking one is a synchronisation, too."""
        if self._sink is None:
            return
        self._sink.copy(direction, nbytes, pinned, blocking)
        if blocking:
            self._sink.sync("copy")

    def unsupported(self, what: str) -> None:
        """Say once that `what` cannot be simulated faithfully."""
        if self._sink is not None and what not in self._said:
            self._said.add(what)
            self._sink.unsupported(what)


REPORTS = Reports()
