"""Steps of optimizers that seemed to be part of a step of the run, until it shows that they were some. Torch-free.

What a line does in several of them was counted in one step, as what lies between two steps of the run is of one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.loops_of_optimizers import LoopsOfOptimizers
    from torchperf_lint.runtime.touched import Touched


class JoinedSteps:
    """Those since a step of the run closed, outside of every pass over a loader."""

    def __init__(self) -> None:
        self._counts: list[tuple[int, dict[Counter, int]]] = []
        """The optimizer, and what each counter that came since that step had counted when it stepped."""

    def joins(self, optimizer: int, come: Iterable[Counter]) -> None:
        """One more."""
        self._counts.append((optimizer, {counter: counter.n for counter in come}))

    def forget(self) -> None:
        """A step of the run has closed."""
        self._counts.clear()

    def were(
        self, positions: Iterable[int], come: set[Counter], touched: Touched, step: int, loops: LoopsOfOptimizers
    ) -> None:
        """Those at these positions were steps: count in `touched` that the counters that have come came in several.

        `step`: the number of the step that is about to close, after them.
        """
        counts = [self._counts[position] for position in positions]
        last: dict[Counter, int] = {}
        for optimizer, count in counts:
            loops.closes_with(optimizer, {counter for counter, now in count.items() if now != last.get(counter)})
            last = count
        for counter in come:
            times, before = 0, None
            for now in [*(count.get(counter) for _, count in counts), counter.n]:
                came = now is not None and now != before
                times, before = times + came, now
            if came:
                counter.last = step
            else:
                loops.come.discard(counter)
            if times > 1:  # what came once, after a run of evaluation, is counted with that (evaluation_runs.py)
                more = touched.setdefault(counter, [0, 0, 0])
                more[0] += times - 1
                more[2] += times - 1
