"""Arithmetic of stretches of time: unions, what is left between them, what of one lies in another.

A stretch is (start, end) with start <= end, in any one unit. What is returned is sorted and does not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Stretch = tuple[float, float]


def union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """What any of them covers; stretches may come in any order and overlap."""
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def within(stretches: Iterable[Stretch], start: float, end: float) -> list[Stretch]:
    """What of them lies between `start` and `end`; they must be sorted and must not overlap."""
    return [(max(a, start), min(b, end)) for a, b in stretches if b > start and a < end]


def between(stretches: Sequence[Stretch], start: float, end: float) -> list[Stretch]:
    """What of `start` to `end` a union leaves uncovered."""
    gaps = []
    at = start
    for a, b in within(stretches, start, end):
        if a > at:
            gaps.append((at, a))
        at = max(at, b)
    if end > at:
        gaps.append((at, end))
    return gaps


def total(stretches: Iterable[Stretch]) -> float:
    """How long they are together."""
    return sum(end - start for start, end in stretches)
