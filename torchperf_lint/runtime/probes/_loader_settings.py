"""What a DataLoader was made with."""

from __future__ import annotations

from typing import Any

from torchperf_lint.events import Record


def settings_of(loader: Any) -> Record:  # noqa: ANN401
    """As the record of a loader has them; None is what it does not say."""
    dataset = getattr(loader, "dataset", None)
    context = getattr(loader, "multiprocessing_context", None)
    return {
        "class": type(loader).__name__,
        "dataset": type(dataset).__name__,
        "samples": _length(dataset),
        "num_workers": getattr(loader, "num_workers", None),
        "batch_size": getattr(loader, "batch_size", None),
        "pin_memory": getattr(loader, "pin_memory", None),
        "prefetch_factor": getattr(loader, "prefetch_factor", None),
        "persistent_workers": getattr(loader, "persistent_workers", None),
        "start_method": getattr(context, "_name", None),
    }


def _length(dataset: Any) -> int | None:  # noqa: ANN401
    """`len()` of a map-style data set; an iterable one is not asked: its answer may cost. None if it does not say."""
    from torch.utils.data import IterableDataset

    if isinstance(dataset, IterableDataset) or not hasattr(type(dataset), "__len__"):
        return None
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001 -- the user's code; DataLoader itself may never ask
        return None
