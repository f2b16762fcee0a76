"""Which loop an event belongs to: training, evaluation, or neither, decided once the loop has shown what it is.

A scope is one pass over a loader. It is training as soon as a backward pass follows its batches, and evaluation when
it ended without one; until then its figures wait. Outside every pass stands the root scope, whose turns are optimizer
steps: it is the loop of scripts that have no loader.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.recorder import Counter
    from torchperf_lint.runtime.sites import Key

Segment = tuple[str, "Key | None", "Key | None"]
"""Phase, and the sites that bound it."""


class Scope:
    """One pass over a loader, or what is outside of all."""

    __slots__ = ("alive", "batches", "ended", "fetched_since_backward", "segments", "touched", "training", "turn")

    def __init__(self, alive: Callable[[], object | None]) -> None:
        self.turn = 0
        """Batches fetched (root: optimizer steps)."""
        self.batches = 0
        """Batches not yet counted as training's or evaluation's."""
        self.training = False
        self.ended = False
        self.fetched_since_backward = False
        self.alive = alive
        self.touched: dict[Counter, int] = {}
        """Counter -> in how many turns it counted something."""
        self.segments: dict[Segment, list[float]] = {}
        """Segment -> [seconds, times], after the warm-up."""


class Totals:
    """What scopes of one kind add up to."""

    def __init__(self) -> None:
        self.batches = 0
        self.segments: dict[Segment, list[float]] = {}

    def add(self, scope: Scope) -> None:
        """Take over what the scope has gathered."""
        self.batches += scope.batches
        for segment, (seconds, times) in scope.segments.items():
            total = self.segments.setdefault(segment, [0.0, 0])
            total[0] += seconds
            total[1] += times
        scope.batches = 0
        scope.segments.clear()


class Scopes:
    """All scopes of a process, and the one that is current."""

    def __init__(self) -> None:
        self.steady = False
        """Whether the warm-up is over."""
        self.restart()

    def restart(self) -> None:
        """Forget everything: a forked child starts afresh."""
        self.steady = False
        self.root = Scope(lambda: True)
        self.current = self.root
        self.train, self.evaluation, self.outside = Totals(), Totals(), Totals()
        self._open: dict[int, Scope] = {}

    def of(self, iterator: Any) -> Scope:  # noqa: ANN401 -- any object
        """The scope of a loader's iterator, made at its first batch."""
        scope = self._open.get(id(iterator))
        if scope is None or scope.ended or scope.alive() is not iterator:
            if scope is not None:
                self._end(scope)
            scope = self._open[id(iterator)] = Scope(weakref.ref(iterator))
        return scope

    def fetched(self, scope: Scope) -> None:
        """A batch of this pass has arrived: a new turn begins."""
        scope.turn += 1
        scope.batches += 1
        scope.fetched_since_backward = True
        self.current = scope

    def exhausted(self, scope: Scope) -> None:
        """The pass has come to its end."""
        scope.ended = True
        self.current = self.root

    def trains(self) -> None:
        """A backward pass: the passes whose batches came since the last one are training, if they still go on."""
        fed = [s for s in self._open.values() if s.fetched_since_backward and not s.ended and s.alive() is not None]
        for scope in fed or ([self.root] if self.current is self.root else []):
            scope.training = True
            scope.fetched_since_backward = False

    def stepped(self) -> None:
        """An optimizer step has closed."""
        if self.current is self.root:
            self.root.turn += 1

    def settle(self) -> Iterator[Counter]:
        """Hand figures of scopes whose kind is known to the totals; yields the counters that changed."""
        for number, scope in list(self._open.items()):
            gone = scope.ended or scope.alive() is None
            if scope.training or gone:
                yield from self._hand_over(scope, self.train if scope.training else self.evaluation)
            if gone:
                del self._open[number]
                if self.current is scope:
                    self.current = self.root
        yield from self._hand_over(self.root, self.train if self.root.training else self.outside)

    def _end(self, scope: Scope) -> None:
        """An iterator died and another took its address: settle it without waiting for the next flush."""
        scope.ended = True
        self._open[-id(scope)] = scope

    def _hand_over(self, scope: Scope, totals: Totals) -> Iterator[Counter]:
        for counter, turns in scope.touched.items():
            if totals is self.train:
                counter.train_turns += turns
            elif totals is self.evaluation:
                counter.eval_turns += turns
            yield counter
        scope.touched.clear()
        totals.add(scope)
