"""Stretches of code, one inside another or apart: which of them a place stands in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from torchperf_lint.facts.outlines.records import Position


class NestedSpans:
    """Spans from a start up to before an end; an answer takes as many steps as spans are nested there."""

    def __init__(self, spans: Sequence[tuple[Position, Position]]) -> None:
        order = sorted(range(len(spans)), key=lambda n: (spans[n][0], (-spans[n][1][0], -spans[n][1][1])))
        self._order = order
        self._starts = [spans[n][0] for n in order]
        self._ends = [spans[n][1] for n in order]
        self._outer = self._opened_before()

    def _opened_before(self) -> list[int]:
        """For each span, the one that was opened last of those still open at its start; -1 for none."""
        opened: list[int] = []
        outer: list[int] = []
        for number, start in enumerate(self._starts):
            while opened and self._ends[opened[-1]] <= start:
                opened.pop()
            outer.append(opened[-1] if opened else -1)
            opened.append(number)
        return outer

    def around(self, at: Position) -> list[int]:
        """The numbers of the spans that a place stands in, in the order in which they were given."""
        return sorted(self.inside_out(at))

    def innermost(self, at: Position, otherwise: int) -> int:
        """The number of the span that starts last of those that a place stands in, where it stands in any."""
        number = bisect_right(self._starts, at) - 1
        while number >= 0 and at >= self._ends[number]:
            number = self._outer[number]
        return self._order[number] if number >= 0 else otherwise

    def inside_out(self, at: Position) -> list[int]:
        """The numbers of the spans that a place stands in, the one that starts last first."""
        found = []
        number = bisect_right(self._starts, at) - 1
        while number >= 0:
            if at < self._ends[number]:
                found.append(self._order[number])
            number = self._outer[number]
        return found
