"""What the caching allocator asked the driver for once a run was steady: looked at when the record is flushed.

The counters are torch's own and cumulative; a look reads them, and asks the device nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

KEY = "allocations"
_COUNTERS = {"retries": "num_alloc_retries", "device_allocs": "num_device_alloc", "device_frees": "num_device_free"}
"""Our name -> torch's; the last two came with torch 2.3 or so, and are left out where there are none."""
_BYTES = {
    "reserved_bytes": ("reserved_bytes", "peak"),
    "allocated_bytes": ("allocated_bytes", "peak"),
    "inactive_bytes": ("inactive_split_bytes", "current"),
}


class Allocations:
    """One per process; of the current device."""

    def __init__(self, session: Session, torch: Any) -> None:  # noqa: ANN401
        self._timeline = session.timeline
        self._simulated = session.simulated
        self._torch = torch
        self.restart()

    def restart(self) -> None:
        """A forked child cannot use its parent's device."""
        self._last: dict[str, int] | None = None
        self._first_step = self._last_step = 0
        self._totals: dict[str, int] = {}
        self._looks = self._growing = 0

    def records(self) -> Iterator[Record]:
        """Everything since the first look after the warm-up, where steps were made since the last one."""
        steps = self._timeline.steps
        if steps < max(self._timeline.warmup, 1) or steps == self._last_step:
            return
        stats = self._stats()
        if not stats:
            return
        now = {ours: stats[theirs] for ours, theirs in _COUNTERS.items() if theirs in stats}
        if self._last is None:
            self._first_step = steps
        else:
            self._add(self._last, now)
            yield {"record": "state", "key": KEY, "value": self._value(steps, stats)}
        self._last, self._last_step = now, steps

    def _stats(self) -> Mapping[str, Any]:
        """Empty where no device is open, or its allocator does not count (cudaMallocAsync says 0 to everything)."""
        cuda = self._torch.cuda
        if self._simulated or not cuda.is_initialized():
            return {}
        backend = getattr(cuda, "get_allocator_backend", None)
        if backend is not None and backend() != "native":
            return {}
        found: Mapping[str, Any] = cuda.memory_stats_as_nested_dict()
        return found

    def _add(self, before: Mapping[str, int], now: Mapping[str, int]) -> None:
        # A script may reset the counters; what they then say is new.
        new = {name: value - before[name] if value >= before[name] else value for name, value in now.items()}
        for name, value in new.items():
            self._totals[name] = self._totals.get(name, 0) + value
        self._looks += 1
        self._growing += bool(new.get("device_allocs"))

    def _value(self, steps: int, stats: Mapping[str, Any]) -> dict[str, int]:
        figures = {ours: stats.get(theirs, {}).get("all", {}).get(which) for ours, (theirs, which) in _BYTES.items()}
        return {
            "steps": steps - self._first_step,
            "looks": self._looks,
            "growing": self._growing,
            **self._totals,
            **{name: value for name, value in figures.items() if value is not None},
        }
