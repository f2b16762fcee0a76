"""What is kept of a series of samples, in constant memory: mean, percentiles, and its course over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

_STEP = math.log(1.05)
"""Buckets of a histogram are 5 % wide, so a percentile is right to 2.5 %."""

BUCKETS = 512
"""At most so many points are kept of the course over time."""


@dataclass(frozen=True)
class Summary:
    """A series of samples, all of the same weight; in the unit that ends the series' name."""

    mean: float
    p50: float
    """Like p95 taken from a histogram: right to 2.5 % of its value."""
    p95: float
    max: float
    samples: int


class Histogram:
    """Counts samples, which are zero or more, in buckets of 5 %."""

    def __init__(self) -> None:
        self._counts: Counter[int | None] = Counter()
        self._sum = 0.0
        self._max = 0.0
        self._min = math.inf

    def add(self, value: float) -> None:
        """Count one sample; a finite number."""
        self._sum += value
        self._min = min(self._min, value)
        self._max = max(self._max, value)
        self._counts[math.floor(math.log(value) / _STEP) if value > 0 else None] += 1

    def summary(self) -> Summary | None:
        """None without a sample."""
        samples = sum(self._counts.values())
        if not samples:
            return None
        return Summary(
            mean=self._sum / samples,
            p50=self._percentile(0.50 * samples),
            p95=self._percentile(0.95 * samples),
            max=self._max,
            samples=samples,
        )

    def _percentile(self, rank: float) -> float:
        passed = 0
        for bucket in sorted(self._counts, key=lambda bucket: -math.inf if bucket is None else bucket):
            passed += self._counts[bucket]
            if passed >= rank:
                middle = 0.0 if bucket is None else math.exp((bucket + 0.5) * _STEP)
                return min(max(middle, self._min), self._max)
        return self._max


class Course:
    """Averages over stretches of equal width, which doubles whenever there would be more than BUCKETS of them."""

    def __init__(self, width_s: float) -> None:
        self.width_s = width_s
        self._buckets: dict[int, dict[str, tuple[float, int]]] = {}

    def add(self, at_s: float, values: Mapping[str, float]) -> None:
        """Add samples taken `at_s` seconds after the start."""
        while at_s >= self.width_s * BUCKETS:
            self._halve()
        bucket = self._buckets.setdefault(int(at_s / self.width_s), {})
        for name, value in values.items():
            total, samples = bucket.get(name, (0.0, 0))
            bucket[name] = (total + value, samples + 1)

    def points(self) -> list[dict[str, float]]:
        """`t` (seconds, a stretch's start) and the averages of what was sampled in it; empty stretches are left out."""
        return [
            {"t": round(index * self.width_s, 3)}
            | {name: _short(total / samples) for name, (total, samples) in bucket.items()}
            for index, bucket in sorted(self._buckets.items())
        ]

    def _halve(self) -> None:
        self.width_s *= 2
        before, self._buckets = self._buckets, {}
        for index, bucket in before.items():
            into = self._buckets.setdefault(index // 2, {})
            for name, (total, samples) in bucket.items():
                had, count = into.get(name, (0.0, 0))
                into[name] = (had + total, count + samples)


def _short(value: float) -> float:
    return float(f"{value:.4g}")
