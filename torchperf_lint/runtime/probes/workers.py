"""What a batch costs in a loader worker: wall time, CPU time, time spent waiting for a core, bytes read from storage.

The worker's loop is torch's own; only `fetcher.fetch` is timed. Works under fork, spawn and forkserver: the figures
travel in shared memory that is handed to the workers with their other arguments. Workers write no file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from math import isnan
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record
from torchperf_lint.runtime.probes._fetch_cost import FIELDS, WatchedLoop

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "workers"


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Time fetches in the workers of every DataLoader that has some."""
    del torch
    costs = _Costs(session)
    session.restarts.append(costs.restart)
    session.recorder.sources.append(costs.records)
    session.after_import("torch.utils.data.dataloader", costs.watch)
    return None


class _Costs:
    """The shared figures of each loader with workers."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._lock = threading.RLock()
        self.restart()

    def restart(self) -> None:
        """A forked child reads its own loaders only."""
        self._shared: dict[int, list[Any]] = {}
        self._shown: dict[int, tuple[float, ...]] = {}

    def watch(self, module: Any) -> None:  # noqa: ANN401
        """Hand each multi-process iterator's workers the loop that measures."""
        cls = module._MultiProcessingDataLoaderIter
        worker = module._utils.worker
        original_init, original_loop = cls.__init__, worker._worker_loop
        share = self.session.guarded(NAME, self._share)

        def init(iterator: Any, loader: Any) -> None:  # noqa: ANN401
            with self._lock:
                array = share(loader)
                if array is not None:
                    worker._worker_loop = WatchedLoop(original_loop, array)
                try:
                    original_init(iterator, loader)
                finally:
                    worker._worker_loop = original_loop

        init.__wrapped__ = original_init  # type: ignore[attr-defined]
        cls.__init__ = init

    def _share(self, loader: Any) -> Any:  # noqa: ANN401
        from multiprocessing.sharedctypes import RawArray

        watched = self.session.loaders.of(loader)
        array = RawArray("d", len(FIELDS) * loader.num_workers)
        self._shared.setdefault(watched.number, []).append(array)
        return array

    def records(self) -> Iterator[Record]:
        """Sums over a loader's workers, where they changed."""
        for number, arrays in self._shared.items():
            sums = tuple(sum(sum(array[at :: len(FIELDS)]) for array in arrays) for at in range(len(FIELDS)))
            if sums != self._shown.get(number):
                self._shown[number] = sums
                figures = {
                    name: None if isnan(value) else round(value, 3) for name, value in zip(FIELDS, sums, strict=True)
                }
                yield {"record": "loader", "id": number, "worker": figures}
