"""What a DataLoader was made with."""

from __future__ import annotations

from types import CodeType
from typing import Any

from torchperf_lint.events import Record

_TORCH = "torch.utils.data"
_NESTED = 4


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


def code_of_items(loader: Any) -> tuple[str | None, CodeType | None]:  # noqa: ANN401
    """What gives a sample, by name, and its code; a data set of torch's own that only selects is looked through."""
    dataset = getattr(loader, "dataset", None)
    for _ in range(_NESTED):
        inner = getattr(dataset, "dataset", None)
        if inner is None or not type(dataset).__module__.startswith(_TORCH):
            break
        dataset = inner
    for name in ("__iter__",) if _is_iterable(dataset) else ("__getitems__", "__getitem__"):
        code = getattr(getattr(type(dataset), name, None), "__code__", None)
        if code is not None:
            return f"{type(dataset).__name__}.{name}", code
    return type(dataset).__name__, None


def code_of_collate(loader: Any) -> tuple[str | None, CodeType | None]:  # noqa: ANN401
    """What puts samples together, by name, and its code."""
    function = getattr(loader, "collate_fn", None)
    for _ in range(_NESTED):
        function = getattr(function, "func", function)  # functools.partial
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is not None:
        return getattr(function, "__qualname__", code.co_name), code
    called = vars(type(function)).get("__call__")
    return type(function).__name__, getattr(called, "__code__", None)


def _is_iterable(dataset: Any) -> bool:  # noqa: ANN401
    from torch.utils.data import IterableDataset

    return isinstance(dataset, IterableDataset)


def _length(dataset: Any) -> int | None:  # noqa: ANN401
    """`len()` of a map-style data set; an iterable one is not asked: its answer may cost. None if it does not say."""
    if _is_iterable(dataset) or not hasattr(type(dataset), "__len__"):
        return None
    try:
        return len(dataset)
    except Exception:  # noqa: BLE001 -- the user's code; DataLoader itself may never ask
        return None
