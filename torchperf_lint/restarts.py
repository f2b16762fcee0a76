"""Loaders whose workers start anew for every pass, and what that takes. Torch-free."""

from __future__ import annotations

from torchperf_lint.bounds import DEFAULT
from torchperf_lint.recorded import LoaderRun


def restarts(loader: LoaderRun) -> bool:
    """Whether its workers start anew for every pass, often enough to say something of it."""
    persists = loader.settings.get("persistent_workers")
    return bool(loader.workers and not loader.background and not persists and loader.epochs >= DEFAULT.passes)


def restart_ms(loader: LoaderRun) -> float:
    """What starts cost in the whole run, beyond the waits that its batches have anyway."""
    usual = (loader.wait_per_batch_ms or 0.0) * loader.epochs
    return max(loader.start_ms + loader.first_wait_ms - usual, 0.0)
