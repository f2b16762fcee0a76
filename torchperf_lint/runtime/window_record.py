"""The record of a profiler's window: its figures, by site, and what ran when, compactly. Torch-free."""

from __future__ import annotations

from collections.abc import Sequence

from torchperf_lint.activities import MARK, Activity, cut_to_device
from torchperf_lint.bubbles import waits_of
from torchperf_lint.events import Record
from torchperf_lint.kernels import Figures, figures

_MOST_INTERVALS = 4000
_MOST_WAITS = 1000
_NAME = 120
"""Characters of a kernel's name: C++ templates grow to hundreds."""


def of(activities: Sequence[Activity], boundaries: Sequence[float], base: float, left_out: int) -> Record:
    """The record of kind `window`: see events.py.

    `boundaries`: when steps closed on the host, microseconds since `base`, as all times of the activities; `base` is in
    seconds since 1970. `left_out`: how many steps of the run were under the profiler.
    """
    start = boundaries[0]
    found = figures(activities, boundaries)
    device = cut_to_device(activities)
    names: dict[str, int] = {}
    streams: dict[int, int] = {}
    rows: list[list[float]] = []
    for activity in device[:_MOST_INTERVALS]:
        track = streams.setdefault(activity.track, len(streams))
        name = names.setdefault(activity.name[:_NAME], len(names))
        rows.append([track, name, _us(activity.start - start), _us(activity.duration)])
    waits = waits_of(activities)
    return {
        "record": "window",
        "at": round(base + start / 1e6, 6),
        "steps": len(boundaries) - 1,
        "left_out": left_out,
        "boundaries": [_us(at - start) for at in boundaries],
        "tracks": [f"stream {stream}" for stream in streams],
        "names": list(names),
        "intervals": rows,
        "cut": max(len(device) - len(rows), 0),
        "waits": [[w.site, w.what, _us(w.start - start), _us(w.blocked)] for w in waits[:_MOST_WAITS]],
        "sites": _sites(found),
        "copies": [[c.site, c.way, c.times, _ms(c.us), c.nbytes] for c in found.copies] if found else [],
        "marks": sum(activity.kind == MARK for activity in activities),
        "kernels": None if found is None else _kernels(found),
    }


def _sites(found: Figures | None) -> list[list[object]]:
    """[site, what waited, times, ms the host was blocked, ms the device idled for it]."""
    if found is None:
        return []
    return [
        [site, what, times, _ms(blocked), _ms(found.bubbles.get((site, what), 0.0))]
        for (site, what), (times, blocked) in sorted(found.waits.items())
    ]


def _kernels(found: Figures) -> Record:
    span = found.span_us or 1.0
    pageable, pageable_us = found.pageable
    return {
        "steps": found.steps,
        "count": found.count,
        "median_us": None if found.median_us is None else round(found.median_us, 3),
        "busy_share": _share(found.busy_us, span),
        "idle_share": _share(found.idle_us, span),
        "copy_share": _share(found.exposed_us, span),
        "short_share": _share(found.short_us, found.kernel_us) if found.kernel_us else None,
        "tensor_core_share": _share(found.tensor_core_us, found.kernel_us) if found.kernel_us else None,
        "bubble_ms": _ms(sum(found.bubbles.values())),
        "ms": _ms(found.span_us),
        "pageable": pageable,
        "pageable_ms": _ms(pageable_us),
    }


def _share(part: float, whole: float) -> float:
    return round(min(part / whole, 1.0), 4)


def _us(value: float) -> float:
    return round(value, 1)


def _ms(us: float) -> float:
    return round(us / 1000, 4)
