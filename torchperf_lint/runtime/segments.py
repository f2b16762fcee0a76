"""Stretches of time between marks, summed by the marks that bound them, and their rows in the record. Torch-free."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchperf_lint.runtime.phases import phase
from torchperf_lint.runtime.sites import Key

Segment = tuple[str, str, Key | None, Key | None]
"""The marks that bound a stretch of time, and their sites."""
Segments = dict[Segment, list[float]]
"""Segment -> [seconds, times]."""
_MOST = 200
_MOST_WRITTEN = 40


def total_of(segments: Segments, segment: Segment) -> list[float]:
    """What is added to for this segment; where there are too many, those of the same marks share one."""
    if len(segments) >= _MOST and segment not in segments:
        segment = (segment[0], segment[1], None, None)
    return segments.setdefault(segment, [0.0, 0])


def spend(aside: dict[str, float], segments: Segments, most: float) -> float:
    """Count seconds that are set aside under their own names, up to `most` in all; returns how many these were."""
    spent = 0.0
    for what, told in aside.items():
        seconds = min(told, most - spent)
        total = total_of(segments, (what, what, None, None))
        total[0] += seconds
        total[1] += 1
        spent += seconds
    aside.clear()
    return spent


def rows(segments: Mapping[Segment, list[float]], site: Callable[[Key | None], int | None]) -> list[list[object]]:
    """[phase, from site, to site, ms, times], the longest first; what is left over has no sites."""
    longest = sorted(segments.items(), key=lambda item: -item[1][0])
    found: dict[tuple[str, int | None, int | None], list[float]] = {}
    for number, ((last, name, start, end), (seconds, times)) in enumerate(longest):
        places = (site(start), site(end)) if number < _MOST_WRITTEN else (None, None)
        total = found.setdefault((phase(last, name), *places), [0.0, 0])
        total[0] += seconds
        total[1] += times
    return [[*row, round(seconds * 1000, 3), times] for row, (seconds, times) in found.items()]
