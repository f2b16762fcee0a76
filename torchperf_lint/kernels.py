"""The figures of a profiler's window, from plain tuples: how busy the device was, with what, and why it idled.

Torch-free. The window covers whole steps. What the device does for a step comes later than the step on the host, by
however far the host runs ahead, so the device's side of the window goes from the start of the first thing that was
launched in its first step to the start of the first thing that was launched after its last.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from torchperf_lint import bubbles, intervals
from torchperf_lint.activities import COPY, KERNEL, MARK, PREFIX, Activity, cut_to_device, launches
from torchperf_lint.intervals import Stretch

SHORT_US = 10.0
"""A kernel shorter than that is over before the host has launched the next one (nsys calls it launch-bound)."""
COPIED = f"{PREFIX}copy:"
"""What the marks of copies begin with: `tpl.copy:<site>:<way>:<microseconds of the call>:<bytes>`, set afterwards."""
_WAYS = {"HtoD": "h2d", "DtoH": "d2h", "DtoD": "d2d"}
_WAY = re.compile(r"^Memcpy (HtoD|DtoH|DtoD)\b")
_PAGEABLE = re.compile(r"^Memcpy (?:HtoD \(Pageable|DtoH \(Device -> Pageable)")
_TENSOR_CORES = re.compile(
    # PyProf's list (pyprof/prof/tc.py), which torch-tb-profiler and TensorFlow's kernel_stats_utils.cc share ...
    r"h884|s884|h1688|s1688|hmma|i8816|i16832|16816|c1688|dgrad_1x1_stride_2x2|first_layer_wgrad_kernel|conv1x1"
    r"|conv2d_c1_k1|direct_group|xmma_(?:implicit_)?gemm|xmma_sparse_(?:conv|gemm)|xmma_warp_specialized_implicit_gemm"
    # ... and what came after it: CUTLASS's names (tensorop, wgmma), cuBLAS on Hopper and later (nvjet), FlashAttention.
    r"|tensorop|gmma|tcgen05|nvjet|flash_(?:fwd|bwd)|fmha_cutlass"
)
_NO_TENSOR_CORES = re.compile(r"simt|ffma|sgemm")
"""CUTLASS and cuBLAS say so where they compute without, whatever else a name holds."""


class CopySite(NamedTuple):
    """Copies at one line, in one direction."""

    site: int
    """Number of the site in the record; 0 for copies that no probe saw asked for."""
    way: str
    """`h2d`, `d2h` or `d2d`."""
    times: int
    us: float
    """On the device."""
    nbytes: int | None


@dataclass(frozen=True)
class Figures:
    """Of the steps of a window; times in microseconds, shares 0 to 1."""

    steps: int
    start: float
    end: float
    """On the device, see above."""
    count: int
    """Kernels."""
    median_us: float | None
    busy_us: float
    """In which any kernel ran: the union of their times over all streams."""
    idle_us: float
    """In which nothing ran, neither kernel nor copy."""
    exposed_us: float
    """In which something was copied from or to the host and no kernel ran."""
    kernel_us: float
    """Sum of the kernels' times."""
    short_us: float
    """Of kernels under SHORT_US."""
    tensor_core_us: float
    """Of kernels that compute with tensor cores, by their names."""
    bubbles: Mapping[tuple[int, str], float]
    """(site, what waited) -> idle time of the device that its waits account for."""
    waits: Mapping[tuple[int, str], tuple[int, float]]
    """(site, what waited) -> how often, and how long the host was blocked."""
    copies: tuple[CopySite, ...]
    pageable: tuple[int, float]
    """Copies from or to memory that is not pinned: how many, and how long on the device."""

    @property
    def span_us(self) -> float:
        """How long the window was on the device."""
        return self.end - self.start


def figures(activities: Iterable[Activity], boundaries: Sequence[float]) -> Figures | None:
    """The figures of the steps between `boundaries`: moments on the host at which steps closed, in microseconds.

    What was recorded after the last boundary only says when the next step began. None without two boundaries, or
    where nothing ran on the device within them.
    """
    every = list(activities)
    if len(boundaries) < 2:
        return None
    calls = launches(every)
    ran = cut_to_device(every)
    launched = {id(a): _launch(a, calls) for a in ran}
    inside = [a for a in ran if boundaries[0] <= launched[id(a)] < boundaries[-1]]
    if not inside:
        return None
    start = inside[0].start
    after = [a.start for a in ran if launched[id(a)] >= boundaries[-1]]
    end = min(after) if after else max(boundaries[-1], *(a.end for a in inside))
    return _counted(every, ran, inside, (start, max(start, end)), boundaries)


def _launch(activity: Activity, calls: Mapping[int, Activity]) -> float:
    call = calls.get(activity.correlation)
    return call.start if call is not None else activity.start


def _counted(
    every: Sequence[Activity],
    ran: Sequence[Activity],
    inside: Sequence[Activity],
    span: Stretch,
    boundaries: Sequence[float],
) -> Figures:
    calls = launches(every)
    kernels = [a for a in inside if a.kind == KERNEL]
    busy = _covered((a for a in ran if a.kind == KERNEL), span)
    busy_or_moving = _covered((a for a in ran if a.kind == KERNEL or _way(a) in ("h2d", "d2h")), span)
    gaps = intervals.between(intervals.union((a.start, a.end) for a in ran), *span)
    # All waits: one that comes right after the last step may be what keeps the next step's first kernel.
    waits = bubbles.waits_of(every)
    told, idle = bubbles.shared_out(gaps, waits, _launched(ran, calls))
    durations = [kernel.duration for kernel in kernels]
    copies = [a for a in inside if a.kind == COPY]
    pageable = [a.duration for a in copies if _PAGEABLE.match(a.name)]
    return Figures(
        steps=len(boundaries) - 1,
        start=span[0],
        end=span[1],
        count=len(kernels),
        median_us=median(durations) if durations else None,
        busy_us=busy,
        idle_us=idle,
        exposed_us=busy_or_moving - busy,
        kernel_us=sum(durations),
        short_us=sum(us for us in durations if us < SHORT_US),
        tensor_core_us=sum(kernel.duration for kernel in kernels if on_tensor_cores(kernel.name)),
        bubbles=told,
        waits=_blocked(wait for wait in waits if boundaries[0] <= wait.start < boundaries[-1]),
        copies=tuple(_by_site(copies, every, calls)),
        pageable=(len(pageable), sum(pageable)),
    )


def _launched(ran: Iterable[Activity], calls: Mapping[int, Activity]) -> dict[float, float]:
    """When what begins at a moment was launched; of several, the one launched first."""
    found: dict[float, float] = {}
    for activity in ran:
        call = calls.get(activity.correlation)
        if call is not None:
            found[activity.start] = min(call.start, found.get(activity.start, call.start))
    return found


def _covered(activities: Iterable[Activity], span: Stretch) -> float:
    """How long any of them ran within the span."""
    return intervals.total(intervals.within(intervals.union((a.start, a.end) for a in activities), *span))


def _way(activity: Activity) -> str | None:
    """The direction of a copy; None of what is none, and between devices."""
    found = _WAY.match(activity.name) if activity.kind == COPY else None
    return _WAYS[found.group(1)] if found is not None else None


def on_tensor_cores(kernel: str) -> bool:
    """Whether a kernel's name says that it computes with tensor cores; compiled kernels (Triton's) do not say."""
    return _TENSOR_CORES.search(kernel) is not None and _NO_TENSOR_CORES.search(kernel) is None


def _blocked(waits: Iterable[bubbles.Wait]) -> dict[tuple[int, str], tuple[int, float]]:
    found: dict[tuple[int, str], tuple[int, float]] = {}
    for wait in waits:
        times, blocked = found.get((wait.site, wait.what), (0, 0.0))
        found[wait.site, wait.what] = (times + 1, blocked + wait.blocked)
    return found


def _by_site(
    copies: Iterable[Activity], every: Iterable[Activity], calls: Mapping[int, Activity]
) -> Iterable[CopySite]:
    """A mark names the call that has just ended: what was launched on its thread while that call lasted is its own."""
    marks = sorted(
        (parsed for a in every if a.kind == MARK and (parsed := _Copied.of(a)) is not None), key=lambda m: m.end
    )
    ends = [mark.end for mark in marks]
    sums: dict[tuple[int, str], list[float]] = {}
    for copy in copies:
        way, call = _way(copy), calls.get(copy.correlation)
        if way is None:
            continue
        mark = _mark_of(call, way, marks, ends) if call is not None else None
        site = mark.site if mark is not None else 0
        row = sums.setdefault((site, way), [0, 0.0, 0, 0])
        nbytes = copy.nbytes if copy.nbytes is not None else (mark.nbytes if mark is not None else None)
        for at, value in enumerate((1, copy.duration, nbytes or 0, nbytes is None)):
            row[at] += value
    for (site, way), (times, us, moved, unknown) in sorted(sums.items()):
        yield CopySite(site, way, int(times), us, None if unknown else int(moved))


class _Copied(NamedTuple):
    site: int
    way: str
    start: float
    end: float
    nbytes: int
    track: int

    @classmethod
    def of(cls, mark: Activity) -> _Copied | None:
        words = mark.name[len(COPIED) :].split(":") if mark.name.startswith(COPIED) else []
        if len(words) != 4 or not all(word.isdecimal() for word in (words[0], words[2], words[3])):
            return None
        return cls(int(words[0]), words[1], mark.start - int(words[2]) - 1, mark.start, int(words[3]), mark.track)


def _mark_of(call: Activity, way: str, marks: Sequence[_Copied], ends: Sequence[float]) -> _Copied | None:
    """The first that ended after the launch, if it had begun by then."""
    for mark in marks[bisect_right(ends, call.start) :]:
        if mark.start <= call.start and mark.way == way:
            return mark
        if mark.start > call.start:
            break
    return None
