"""Runs inside a loader worker: times each fetch and adds it to shared memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from math import nan
from time import perf_counter, process_time
from typing import Any

FIELDS = ("batches", "wall_ms", "cpu_ms", "queued_ms", "read_bytes", "faults", "collate_ms", "collated")
"""Per worker; NaN where the system does not say.

`queued_ms`: ready to run but without a core, from /proc/thread-self/schedstat; `read_bytes`: what the kernel fetched
from storage for it (getrusage: blocks of 512 bytes); `faults`: major page faults, which also read; `collate_ms`: the
part of the wall time in `collate_fn`, and `collated` the samples that went through it.
"""
_WORKER_ID = 10
"""Where torch's `_worker_loop` has the worker's number among its arguments."""
_BLOCK = 512
_WORKER = "torch.utils.data._utils.worker"


class WatchedLoop:
    """Stands in for torch's `_worker_loop`; pickled to spawned workers by this module's name."""

    def __init__(self, loop: Callable[..., None] | None, array: Any) -> None:  # noqa: ANN401
        """`loop`: None stands for torch's own."""
        self.loop = loop
        self.array = array

    def __reduce__(self) -> tuple[Any, ...]:
        """Torch's own loop is pickled by its name, at which we stand meanwhile: the worker looks it up itself."""
        is_torchs = getattr(self.loop, "__module__", None) == _WORKER
        return WatchedLoop, (None if is_torchs else self.loop, self.array)

    def __call__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Run the worker, with its fetches timed where that is possible."""
        mute()
        at = int(args[_WORKER_ID]) * len(FIELDS)
        try:
            _time_fetches(self.array, at)
        except Exception:  # noqa: BLE001 -- the border of a probe: the worker works unwatched, and we say so
            self.array[at : at + len(FIELDS)] = [nan] * len(FIELDS)
        (self.loop or import_module(_WORKER)._worker_loop)(*args, **kwargs)


def mute() -> None:
    """A loader worker records nothing of its own: its parent's file is its parent's."""
    module = sys.modules.get("torchperf_lint.runtime.session")
    for session in module.running if module is not None else ():
        session.recorder.muted = True


def _time_fetches(array: Any, at: int) -> None:  # noqa: ANN401
    from torch.utils.data.dataloader import _DatasetKind

    create = _DatasetKind.create_fetcher

    ms_at, samples_at = at + FIELDS.index("collate_ms"), at + FIELDS.index("collated")

    def collated(ms: float, samples: int) -> None:
        array[ms_at] += ms
        array[samples_at] += samples

    def create_fetcher(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        fetcher = create(*args, **kwargs)
        fetch = fetcher.fetch

        def timed(*fetch_args: Any) -> Any:  # noqa: ANN401
            before = _now()
            try:
                return fetch(*fetch_args)
            finally:
                array[at] += 1
                for offset, (then, now) in enumerate(zip(before, _now(), strict=True), 1):
                    array[at + offset] += now - then

        fetcher.fetch = timed
        time_collating(fetcher, collated)
        return fetcher

    _DatasetKind.create_fetcher = staticmethod(create_fetcher)


def time_collating(fetcher: Any, add: Callable[[float, int], None]) -> None:  # noqa: ANN401
    """Tell `add` of each call of the fetcher's `collate_fn`: ms, and samples. Nothing where samples are batches."""
    if not getattr(fetcher, "auto_collation", False):
        return
    collate = fetcher.collate_fn

    def timed(samples: Any) -> Any:  # noqa: ANN401
        began = perf_counter()
        batch = collate(samples)
        # Samples may come in whatever the data set gives for a list of them.
        add((perf_counter() - began) * 1000, len(samples) if hasattr(samples, "__len__") else 0)
        return batch

    fetcher.collate_fn = timed


def _now() -> tuple[float, float, float, float, float]:
    blocks, faults = _storage()
    return perf_counter() * 1000, process_time() * 1000, queued_ms(), blocks * _BLOCK, faults


def queued_ms() -> float:
    """Time this thread was ready and had no core, in ms."""
    try:
        with open("/proc/thread-self/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e6
    except (OSError, IndexError, ValueError):
        return nan


def _storage() -> tuple[float, float]:
    try:
        import resource
    except ImportError:
        return nan, nan
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return float(usage.ru_inblock), float(usage.ru_majflt)
