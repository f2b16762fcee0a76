"""What the simulated device reports, put into the recorder."""

from __future__ import annotations

from torchperf_lint.runtime.recorder import Recorder


class RecordingSink:
    """Counts each synchronisation and copy at the line of the script where it happens."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def sync(self, what: str) -> None:
        """The host would have waited for the device here."""
        self.recorder.event("sync", what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        """A copy between host ("h") and device ("d"): "h2d" or "d2h"."""
        attributes = (("pinned", pinned), ("blocking", blocking))
        self.recorder.event("copy", direction, nbytes=nbytes, attributes=attributes)

    def unsupported(self, what: str) -> None:
        """The simulation cannot do this as a card would; counts around it are not complete."""
        self.recorder.event("unsupported", what)
