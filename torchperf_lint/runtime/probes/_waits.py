"""What the timeline has been told of the host's waits, so that two probes that time one wait tell it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session


class Waits:
    """One per session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.told = 0
        """How many waits the timeline has been told of."""

    def waited(self, ms: float) -> None:
        """The host stood still for the device, for `ms` milliseconds."""
        self.told += 1
        self.session.timeline.waited(ms)


def of(session: Session) -> Waits:
    """The one of this session, made when it is first asked for."""
    waits = vars(session).get("waits")
    if not isinstance(waits, Waits):
        waits = vars(session)["waits"] = Waits(session)
    return waits
