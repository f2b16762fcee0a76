"""A simulated CUDA device: an unmodified CUDA script runs on the host, and every synchronisation and copy is reported.

What the C++ half of torch sees is its PrivateUse1 backend: ordinary tensors, ordinary storages, kernels written here
that run the host's own kernels over the same memory. What Python sees is CUDA: `x.device` is `cuda:0`. Functions are
patched; no torch mode is entered, so every thread is covered. Nothing here measures time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Sink(Protocol):
    """Hears of each synchronisation and copy when it happens, on the thread where it happens."""

    def sync(self, what: str) -> None:
        """The host waits for the device: "item", "nonzero", "mask-index", "copy", "device-synchronize" and so on."""

    def copy(self, direction: str, nbytes: int, pinned: bool, blocking: bool) -> None:
        """A copy "h2d" or "d2h"; `pinned` speaks of the host's side. A blocking one is followed by `sync("copy")`."""

    def unsupported(self, what: str) -> None:
        """Something that the simulation cannot do as a card would: the counts around it are not complete."""


class UnavailableError(RuntimeError):
    """This torch lacks what the simulation rests on, or its spare backend is taken; the message says which."""


def install(sink: Sink, *, devices: int = 1) -> None:
    """Make torch believe in a CUDA device and report what it does to `sink`; once in a process.

    Call it right after torch was imported, before the script goes on. Raises UnavailableError, with torch untouched;
    also for more than one device, which autograd's engine would not serve.
    """
    from torchperf_lint.runtime.simulated.setup import set_up

    set_up(sink, devices)


def is_installed() -> bool:
    """Whether this process has a simulated device."""
    from torchperf_lint.runtime.simulated.reports import REPORTS

    return REPORTS.connected


def is_gradient_of_index() -> bool:
    """Whether autograd computes, on this thread, the gradient of an index: what is copied then is the index again."""
    from torchperf_lint.runtime.simulated.gradients import of_an_index

    return of_an_index()


def gradient() -> str | None:
    """Whose gradient autograd computes on this thread by a formula of its own ("cumprod"); None where it does not."""
    from torchperf_lint.runtime.simulated.gradients import operation

    return operation()


def forward_line() -> object | None:
    """Where the forward pass called what autograd computes the gradient of, as `locate_by` says it; None: not known."""
    from torchperf_lint.runtime.simulated.gradients import named
    from torchperf_lint.runtime.simulated.origins import ORIGINS

    operation = named()
    return ORIGINS.of(operation) if operation is not None else None


def locate_by(locate: Callable[[], object | None]) -> None:
    """`locate` says where the script is: asked from now on whenever an operator is called whose gradient may wait."""
    from torchperf_lint.runtime.simulated.origins import ORIGINS

    ORIGINS.locate = locate


def listen(sink: Sink) -> None:
    """Report what the simulated device does to `sink`, too, until `leave`."""
    from torchperf_lint.runtime.simulated.reports import REPORTS

    REPORTS.listen(sink)


def leave(sink: Sink) -> None:
    """Report to `sink` no longer."""
    from torchperf_lint.runtime.simulated.reports import REPORTS

    REPORTS.leave(sink)
