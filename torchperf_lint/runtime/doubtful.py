"""What was handed over as evaluation's while it was not known that an optimizer would step on it. Torch-free.

Figures are written while the run goes on: what comes to light later is put right in what is written next.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.runtime.touched import add

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.scope import Place, Scope, Totals
    from torchperf_lint.runtime.segments import Segments
    from torchperf_lint.runtime.touched import Touched


class Doubtful:
    """Of the passes over one loader."""

    def __init__(self) -> None:
        self.batches = 0
        self.segments: Segments = {}
        self._touched: Touched = {}
        self._of: dict[Counter, int] = {}
        """How many batches the passes have in which a counter counted."""

    def notes(self, scope: Scope) -> None:
        """The pass is about to be handed over."""
        add(self._touched, scope.touched)
        for counter in scope.touched:
            self._of[counter] = self._of.get(counter, 0) + scope.batches
        self.batches += scope.batches
        for segment, (seconds, times) in scope.segments.items():
            total = self.segments.setdefault(segment, [0.0, 0])
            total[0] += seconds
            total[1] += times

    def moves(self, evaluation: Totals, train: Totals) -> set[Counter]:
        """All of it is training's; the counters that changed."""
        for counter, (turns, count, steps) in self._touched.items():
            counter.eval_turns -= turns
            counter.evaluated -= count
            counter.eval_of -= self._of[counter]
            counter.train_turns += turns
            counter.trained += count
            counter.train_steps += steps
        for totals, sign in ((evaluation, -1), (train, 1)):
            totals.batches += sign * self.batches
            for segment, (seconds, times) in self.segments.items():
                total = totals.segments.setdefault(segment, [0.0, 0])
                total[0] += sign * seconds
                total[1] += sign * times
        for segment in self.segments:
            if not evaluation.segments[segment][1]:
                del evaluation.segments[segment]
        return set(self._touched)


class Doubts:
    """All of a process."""

    def __init__(self) -> None:
        self._by_loader: dict[object, dict[Place | None, Doubtful]] = {}
        """Loader -> place -> what was handed over as evaluation's, though backward passes followed."""

    def of(self, scope: Scope) -> Doubtful:
        """What it is added to."""
        return self._by_loader.setdefault(scope.loader or scope, {}).setdefault(scope.place, Doubtful())

    def resolved(self, scope: Scope, learnt: set[object]) -> list[Doubtful]:
        """An optimizer has stepped on this pass: what is training after all; its loader and its place are `learnt`."""
        here = scope.loader or scope
        found = list(self._by_loader.pop(here, {}).values())
        if scope.place not in learnt and scope.place is not None:
            others = [places.pop(scope.place, None) for places in self._by_loader.values()]
            found += [doubtful for doubtful in others if doubtful is not None]
            learnt.add(scope.place)
        learnt.add(here)
        return found
