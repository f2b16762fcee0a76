"""`simulate()`: a simulated CUDA device for code and tests that run where there is none."""

from __future__ import annotations

import threading

from torchperf_lint.errors import CannotSeeSyncsError
from torchperf_lint.runtime import simulated

_LOCK = threading.Lock()


class _Nobody:
    """The sink of a device that nobody records; who wants to hear listens."""

    def sync(self, what: str) -> None:
        pass

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        pass

    def unsupported(self, what: str) -> None:
        pass


def simulate() -> None:
    """Make torch believe in one CUDA device for the rest of this process, on which the host's own kernels run.

    Numbers are real, every synchronisation and copy is seen, and no time means anything. Call it before the code under
    test is imported (a `DEVICE = "cuda" if torch.cuda.is_available() else "cpu"` is decided once) and before the first
    backward pass, at which autograd learns for good which devices there are. A second call does nothing.
    Raises CannotSeeSyncsError where this torch cannot host it.
    """
    with _LOCK:
        if simulated.is_installed():
            return
        try:
            simulated.install(_Nobody())
        except simulated.UnavailableError as error:
            raise CannotSeeSyncsError(f"no device can be simulated: {error}") from error
