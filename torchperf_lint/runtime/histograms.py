"""Times in a histogram: how they are kept in the record, and read from it. Torch-free.

A bucket is the whole part of the time's logarithm over the bucket's width, so memory does not grow with the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, floor, log

BUCKET = 0.02
"""The width, in the logarithm of ms: 2 %. Records say theirs."""
_LEAST_MS = 1e-6
_LOWEST = floor(log(_LEAST_MS) / BUCKET)


def keep(histogram: dict[int, int], seconds: float) -> None:
    """Count a time in its bucket; what is 0 or less in the lowest there is."""
    ms = seconds * 1000
    bucket = floor(log(ms) / BUCKET) if ms > _LEAST_MS else _LOWEST
    histogram[bucket] = histogram.get(bucket, 0) + 1


def times(histogram: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """(bucket, how often), sorted, from a record."""
    return sorted((int(bucket), int(count)) for bucket, count in histogram)


def without(histogram: Iterable[Sequence[int]], part: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """What a histogram has besides an earlier state of it."""
    earlier = dict(times(part))
    left = ((bucket, count - earlier.get(bucket, 0)) for bucket, count in times(histogram))
    return [(bucket, count) for bucket, count in left if count > 0]


def quantile(rows: Sequence[tuple[int, int]], share: float, width: float) -> float:
    """The middle of the bucket, in ms, up to which so many of all lie; `rows` as `times` gives them, not empty."""
    total, passed = sum(count for _, count in rows), 0
    for bucket, count in rows:
        passed += count
        if passed >= share * total:
            return exp((bucket + 0.5) * width)
    return exp((rows[-1][0] + 0.5) * width)
