"""What the simulated device reports, put into the recorder."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.runtime.recorder import Attributes, Recorder
from torchperf_lint.runtime.sites import Key
from torchperf_lint.waits import COPY, FORWARD, GRADIENT, IN_SEARCH, OF_INDEX

_AGAIN: Attributes = ((OF_INDEX, True),)


class RecordingSink:
    """Counts each synchronisation and copy at the line of the script where it happens."""

    def __init__(
        self,
        recorder: Recorder,
        guarded: Callable[[Callable[..., None]], Callable[..., None]],
        is_gradient_of_index: Callable[[], bool] = lambda: False,
        gradient: Callable[[], str | None] = lambda: None,
        forward_line: Callable[[], object | None] = lambda: None,
    ) -> None:
        """`guarded` is the border that keeps what fails here out of the script; `gradient` says whose is computed, and
        `forward_line`, by a site, where the forward pass called that.
        """
        self._recorder = recorder
        self._forward_line = forward_line
        self._event = guarded(recorder.event)
        self._is_gradient_of_index = is_gradient_of_index
        self._gradient = gradient

    def sync(self, what: str) -> None:
        """The host would have waited for the device here."""
        again = what == COPY and self._is_gradient_of_index()
        of = () if what == IN_SEARCH else self._of_gradient()
        self._event("sync", what, attributes=self._again() if again else of)

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        """A copy between host ("h") and device ("d"): "h2d" or "d2h"."""
        attributes: Attributes = (("pinned", pinned), ("blocking", blocking))
        again = direction == "h2d" and self._is_gradient_of_index()
        attributes = (*attributes, *(self._again() if again else self._of_gradient()))
        self._event("copy", direction, nbytes=nbytes, attributes=attributes)

    def _of_gradient(self) -> Attributes:
        operation = self._gradient()
        return ((GRADIENT, operation), *self._from()) if operation is not None else ()

    def _again(self) -> Attributes:
        return (*_AGAIN, *self._from())

    def _from(self) -> Attributes:
        line = self._forward_line()
        return ((FORWARD, self._recorder.site(line)),) if isinstance(line, Key) else ()

    def unsupported(self, what: str) -> None:
        """The simulation cannot do this as a card would; counts around it are not complete."""
        self._event("unsupported", what)
