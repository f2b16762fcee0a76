"""Runs one function over many items in several processes; the answers come back in order.

Processes are forked, so that they share what is in memory; where the platform cannot fork, one process does all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Answer = TypeVar("Answer")
FEW = 200
"""Up to this many items, starting processes costs more than it saves."""
_CHUNK = 16
_work: Callable[[object], object] | None = None


def count(jobs: int | None, items: int) -> int:
    """How many processes to use for so many items; `jobs` None means as many as there are cores to run on."""
    if jobs is not None:
        return max(1, min(jobs, items))
    if items <= FEW:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, items // _CHUNK)


def each(work: Callable[[Item], Answer], items: Sequence[Item], processes: int) -> list[Answer]:
    """`[work(item) for item in items]`."""
    if processes <= 1 or len(items) < 2 or not hasattr(os, "fork"):
        return [work(item) for item in items]
    import multiprocessing  # costs more than a small run takes

    global _work  # noqa: PLW0603 -- forked processes inherit it; a closure could not be sent
    _work = work  # type: ignore[assignment]
    try:
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            return pool.map(_call, items, chunksize=_CHUNK)  # type: ignore[arg-type]
    finally:
        _work = None


def _call(item: object) -> object:
    assert _work is not None
    return _work(item)
