"""What a profiler's window of a few steps says of the device, as rules and reports read it. Torch-free.

A window is a sample: some steps of a run, on one of its devices. Its shares are of its own time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.events import Record

KERNELS = "kernels"
"""The state of a record that holds the figures."""


@dataclass(frozen=True)
class Window:
    """That there was one, and what it took; its figures are `Kernels`."""

    steps: int
    """Whole steps that its figures are of."""
    left_out: int
    """Steps that ran under the profiler, and count in no other figure."""
    at: float | None = None
    """When its first step began, seconds since 1970."""
    open_ms: float | None = None
    close_ms: float | None = None
    """What its start, and its end with the reading of it, took of the run."""

    @property
    def own_ms(self) -> float | None:
        """What the script waited for it in all, besides the steps under it; None where that was not recorded."""
        known = [ms for ms in (self.open_ms, self.close_ms) if ms is not None]
        return sum(known) if known else None


@dataclass(frozen=True)
class Kernels:
    """What ran on the device in a window; None is "not measured"."""

    steps: int
    count: float
    median_us: float
    busy: float
    """Share of the window in which any kernel ran: the union of their times over all streams."""
    idle: float | None = None
    """Share in which nothing ran, neither kernel nor copy."""
    copying: float | None = None
    """Share in which something was copied and no kernel ran."""
    short: float | None = None
    """Share of the kernels' own time that those under 10 us took."""
    tensor_cores: float | None = None
    """Share of the kernels' own time in kernels that compute with tensor cores, by their names."""
    bubble_ms: float | None = None
    """Idle time that waits of the host account for, in the whole window: an upper bound."""
    ms: float | None = None
    """How long the window was on the device."""
    pageable: int | None = None
    pageable_ms: float | None = None
    """Copies from or to memory that is not pinned: how many, and their time on the device."""

    @property
    def per_step(self) -> float:
        """Kernels a step."""
        return self.count / self.steps

    @property
    def bubble(self) -> float | None:
        """Share of the window that the device idled for waits of the host: an upper bound."""
        return self.bubble_ms / self.ms if self.bubble_ms is not None and self.ms else None


def kernels_of(state: Mapping[str, Any]) -> Kernels | None:
    """The figures in a run's `state`; None where no window was, or where what it needs is missing."""
    found = state.get(KERNELS)
    if not isinstance(found, Mapping):
        return None
    steps, count, median_us, busy = (_number(found.get(n)) for n in ("steps", "count", "median_us", "busy_share"))
    if not steps or count is None or median_us is None or busy is None:
        return None
    pageable = _number(found.get("pageable"))
    return Kernels(
        steps=int(steps),
        count=count,
        median_us=median_us,
        busy=busy,
        idle=_number(found.get("idle_share")),
        copying=_number(found.get("copy_share")),
        short=_number(found.get("short_share")),
        tensor_cores=_number(found.get("tensor_core_share")),
        bubble_ms=_number(found.get("bubble_ms")),
        ms=_number(found.get("ms")),
        pageable=None if pageable is None else int(pageable),
        pageable_ms=_number(found.get("pageable_ms")),
    )


def window_of(record: Record | None) -> Window | None:
    """From a record of the kind `window`."""
    if record is None or not record.get("steps"):
        return None
    return Window(
        steps=int(record["steps"]),
        left_out=int(record.get("left_out", 0)),
        at=_number(record.get("at")),
        open_ms=_number(record.get("open_ms")),
        close_ms=_number(record.get("close_ms")),
    )


def bubbles_by_site(record: Record | None) -> dict[tuple[int, str], float]:
    """(number of the site, what waited) -> ms that the device idled for it in the window."""
    return {(row[0], row[1]): float(row[4]) for row in (record or {}).get("sites", ())}


def copies_by_site(record: Record | None) -> dict[tuple[int, str], float]:
    """(number of the site, way) -> ms on the device in the window."""
    return {(row[0], row[1]): float(row[3]) for row in (record or {}).get("copies", ())}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
