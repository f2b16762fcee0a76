"""Which optimizer closed the steps that an event came in, where optimizers have loops of their own. Torch-free.

    for epoch in range(4):
        for batch in loader: step_of(a); log(loss.item())      <- in each step that `a` closes: half of all steps
        for batch in loader: step_of(b)

Of the sum of all steps such an event has a share that says nothing of its loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.events import Record

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter

_MOST = 32
"""Of so many optimizers it is told: a script may make one for each task that it meets."""


class LoopsOfOptimizers:
    """Those of one process."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        """Optimizer -> its number here."""
        self.closed: list[list[int]] = []
        """By number: how many steps it has closed, and in how many rows."""
        self._last: int | None = None
        self.come: set[Counter] = set()
        """What has come since a step closed."""

    def closes(self, optimizer: int) -> None:
        """It has closed a step, in which all came that has come."""
        come, self.come = self.come, set()
        self.closes_with(optimizer, come)

    def closes_with(self, optimizer: int, come: set[Counter]) -> None:
        """It has closed a step in which these came."""
        number = self._numbers.get(optimizer)
        if number is None:
            if len(self._numbers) == _MOST:
                self._last = None
                return
            number = self._numbers[optimizer] = len(self._numbers)
            self.closed.append([0, 0])
        closed = self.closed[number]
        closed[0] += 1
        closed[1] += number != self._last
        self._last = number
        for counter in come:
            counter.closed_by[number] = counter.closed_by.get(number, 0) + 1

    def told(self, counter: Counter) -> Record:
        """Its record; where several optimizers have closed steps, with how many of each it came in."""
        record = counter.record()
        if len(self.closed) > 1 and counter.closed_by:
            record["closed_by"] = [list(pair) for pair in sorted(counter.closed_by.items())]
        return record
