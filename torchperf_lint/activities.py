"""What a profiler's window recorded, one plain tuple for each thing: kernels, copies, host calls, our own marks.

Torch-free: the probe translates what Kineto has, and tests write such tuples by hand. Times are microseconds on one
clock for host and device, which is how Kineto hands out what CUPTI recorded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

KERNEL, COPY, FILL = "kernel", "copy", "fill"
"""Of the device."""
CALL, MARK = "call", "mark"
"""Of the host: a call of CUDA's API, and a mark of a probe of ours."""
ON_DEVICE = (KERNEL, COPY, FILL)

PREFIX = "tpl."
"""What the names of our marks begin with."""
_KINDS = {"kernel": KERNEL, "gpu_memcpy": COPY, "gpu_memset": FILL, "cuda_runtime": CALL, "cuda_driver": CALL}
"""Kineto's names of activity types (libkineto, ActivityType.cpp); HIP's calls and kernels bear the same."""
_WAITS = re.compile(r"^(?:cu|cuda|hip)(?:Stream|Event|Device|Ctx)Synchronize|^(?:cuda|hip)Memcpy$")
"""Host calls that return when the device is done."""
_CALLS = re.compile(r"^(?:cuda|hip|cu)[A-Z]")
_SYNCS = ("Context Sync", "Stream Sync", "Event Sync", "Stream Wait Event", "Unknown Sync")


class Activity(NamedTuple):
    """One thing that took place."""

    kind: str
    """KERNEL, COPY, FILL, CALL or MARK."""
    name: str
    start: float
    end: float
    """Microseconds."""
    track: int = 0
    """The stream of what ran on the device, the thread of what the host did."""
    correlation: int = 0
    """Joins what ran on the device to the call that launched it; 0 for none."""
    nbytes: int | None = None
    """Of a copy, as far as the profiler says."""
    device: int = 0

    @property
    def duration(self) -> float:
        """Microseconds."""
        return self.end - self.start

    @property
    def waits(self) -> bool:
        """Whether it is a call that returns when the device is done."""
        return self.kind == CALL and _WAITS.match(self.name) is not None


def kind_of(name: str, on_device: bool, activity_type: str | None) -> str | None:
    """What an event of Kineto is; None for what says nothing here (annotations, overhead, waits seen from the device).

    `activity_type` is None in torch versions that do not tell it (before 2.8 or so): the name decides then.
    """
    if name.startswith(PREFIX):
        return None if on_device else MARK
    if activity_type is not None:
        return _KINDS.get(activity_type)
    if not on_device:
        return CALL if _CALLS.match(name) else None
    if name.startswith(("Memcpy", "CopyDeviceTo", "CopyHostTo")):
        return COPY
    if name.startswith("Memset"):
        return FILL
    return None if name.startswith(_SYNCS) else KERNEL


def launches(activities: Iterable[Activity]) -> dict[int, Activity]:
    """Correlation -> the host's call that launched what bears it; the first, where a call bears several names."""
    found: dict[int, Activity] = {}
    for activity in activities:
        if activity.kind == CALL and activity.correlation:
            known = found.get(activity.correlation)
            if known is None or activity.start < known.start:
                found[activity.correlation] = activity
    return found


def cut_to_device(activities: Iterable[Activity]) -> list[Activity]:
    """What ran on the device that ran most kernels, by start: others of the process have clocks of their own work."""
    ran = [a for a in activities if a.kind in ON_DEVICE]
    counts: dict[int, int] = {}
    for activity in ran:
        counts[activity.device] = counts.get(activity.device, 0) + (activity.kind == KERNEL)
    main = max(counts, key=lambda device: (counts[device], -device), default=0)
    return sorted((a for a in ran if a.device == main), key=lambda a: (a.start, a.end))
