"""What the simulated device reports, put into the recorder."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.runtime.recorder import Recorder


class RecordingSink:
    """Counts each synchronisation and copy at the line of the script where it happens."""

    def __init__(self, recorder: Recorder, guarded: Callable[[Callable[..., None]], Callable[..., None]]) -> None:
        """`guarded` is the border that keeps what fails here out of the script."""
        self._event = guarded(recorder.event)

    def sync(self, what: str) -> None:
        """The host would have waited for the device here."""
        self._event("sync", what)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        """A copy between host ("h") and device ("d"): "h2d" or "d2h"."""
        attributes = (("pinned", pinned), ("blocking", blocking))
        self._event("copy", direction, nbytes=nbytes, attributes=attributes)

    def unsupported(self, what: str) -> None:
        """The simulation cannot do this as a card would; counts around it are not complete."""
        self._event("unsupported", what)
