"""`torch.cuda.empty_cache()`: where it is called, and how long it takes where there is a device; and what the caching
allocator asked the driver for.

Without a device the call does nothing, and is seen all the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes._allocations import Allocations

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "allocator"


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Count calls of `empty_cache`, the simulated device's as well, and look at the allocator when a flush comes."""
    allocations = Allocations(session, torch)
    session.recorder.sources.append(allocations.records)
    session.restarts.append(allocations.restart)
    for what, modules in (("cuda", (torch.cuda, torch.cuda.memory)), ("accelerator", _accelerator(torch))):
        if modules:
            watched = _watched(session, torch, modules[0].empty_cache, what)
            for module in modules:
                module.empty_cache = watched
    return None


def _accelerator(torch: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """Where torch 2.9 and later have a second name for it."""
    package = getattr(torch, "accelerator", None)
    modules = (package, getattr(package, "memory", None))
    return tuple(module for module in modules if hasattr(module, "empty_cache"))


def _watched(session: Session, torch: Any, original: Callable[[], None], what: str) -> Callable[[], None]:  # noqa: ANN401
    def count(started: float) -> None:
        ms = (perf_counter() - started) * 1000
        measured = torch.cuda.is_initialized() and not session.simulated
        session.recorder.event("empty-cache", what, ms=ms if measured else None)

    count_guarded = session.guarded(NAME, count)

    @functools.wraps(original)
    def empty_cache() -> None:
        started = perf_counter()
        original()
        count_guarded(started)

    return empty_cache
