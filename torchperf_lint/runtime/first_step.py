"""What of the first training step came before the last call of a module that precedes its backward pass.

Without a loader nothing says where the first step begins: a model that was called several times may have filled a
buffer, or a loss is a module, too. The steps after it tell: what a line does in each of the next two, it did in the
first, as far as it did so before.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.touched import Touched

_ENOUGH = 3
"""After so many steps it is settled: what comes in the second alone may be an evaluation after the first."""


class FirstStep:
    """What had been counted before it, until the steps that follow tell what was its own."""

    def __init__(self, set_up: Touched, *calls: Touched) -> None:
        """`set_up`: before the first call; `calls`: from there, what `Counter.before` tells."""
        self._calls: dict[Counter, int] = {}
        for touched in calls:
            for counter, (_, count, _) in touched.items():
                self._calls[counter] = self._calls.get(counter, 0) + count
        self._earlier = dict(self._calls)
        for counter, (_, count, _) in set_up.items():
            self._earlier[counter] = self._earlier.get(counter, 0) + count
        self._closed: list[dict[Counter, int]] = [self._earlier]

    def closes(self) -> set[Counter] | None:
        """A step has closed; the counters whose figures were put right, once that is known."""
        self._closed.append({counter: counter.n for counter in self._earlier})
        if len(self._closed) <= _ENOUGH:
            return None
        return {counter for counter in self._earlier if self._puts_right(counter)}

    def _puts_right(self, counter: Counter) -> bool:
        totals = [closed[counter] for closed in self._closed]
        first, *others = (total - before for before, total in pairwise(totals))
        missing = min(totals[0], min(others) - first)
        if missing <= 0:
            return False
        counter.trained += missing
        counter.before -= min(missing, self._calls.get(counter, 0))
        counter.train_turns += not first
        counter.train_steps += not first
        return True
