"""Loaders that hand a batch out when they have fetched the next one: they end before their last batch is used.

    for batch in loader:                <- fetched: 1, 2;  3;  4;  the end
        loss = net(batch)               <- of:     1;     2;  3;  4
        total += loss.item()

What each turn but the first has had, and the turn that the end of the pass began has not, is of that turn: as often as
it was in the turn before. Where backward passes have shown that a pass is one batch ahead (or two), that is also said
of what came in some of its turns. What stands behind the loop (a checkpoint) has been in none. Torch-free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.scope import Scope

_FEWEST = 3
"""Of passes with fewer batches nothing can be told by themselves."""
_MOST_AHEAD = 2


class Ahead:
    """Of one process."""

    def __init__(self) -> None:
        self.tail: Scope | None = None
        """The pass that came to its end last, until a batch is asked for again."""
        self._known: dict[object, int] = {}
        """Loader, or place of passes -> how many batches it has been seen to be ahead."""
        self._ahead = 0
        """The same of the tail."""
        self._end = 0
        """The turn that the end of the tail began."""
        self._used = 0
        """How many of the batches that were left at its end have led to a backward pass."""

    def ends(self, scope: Scope) -> None:
        """A pass has come to its end."""
        self.tail, self._end, self._used = scope, scope.turn, 0
        self._ahead = ahead_of(scope) or self._known.get(scope.loader) or self._known.get(scope.place) or 0
        if self._ahead:
            self._learns(scope)

    def is_over(self) -> None:
        """A batch is asked for, or something else is trained on."""
        self.tail = None

    def is_of(self, scope: Scope) -> bool:
        """Whether this pass has ended before its last batch was used."""
        return scope is self.tail and self._ahead > 0

    def owes(self, scope: Scope) -> bool:
        """Whether a backward pass is of this pass, which has ended, though its iterator is gone."""
        return scope is self.tail and self._used < self._ahead

    def leads(self, scope: Scope) -> bool:
        """A backward pass is of this pass, which has ended; whether more of them will be."""
        if scope is not self.tail:
            return False
        scope.turn = max(scope.turn, self._end + self._used)
        self._used += 1
        return self._used < self._ahead

    def has(self, counter: Counter) -> bool:
        """Whether what is counted now is of the last turn of the tail."""
        tail, last = self.tail, counter.scope
        if tail is None or last is None:
            return False
        if last is not tail:
            return bool(self._ahead) and tail.place is not None and last.place == tail.place
        if counter.turn == tail.turn:
            fits = counter.n - counter.since <= counter.size
            if fits or tail.turn >= self._end + self._ahead - 1:
                return fits
            tail.turn += 1
        if not self._ahead:
            short = tail.total - 1
            if counter.row != short or short < _FEWEST - 1 or counter.turn != tail.turn - 1:
                return False
            self._ahead = 1
            self._learns(tail)
        return True

    def _learns(self, scope: Scope) -> None:
        self._known |= {known: self._ahead for known in (scope.loader, scope.place) if known is not None}


def ahead_of(scope: Scope) -> int:
    """How many batches a pass was ahead, where backward passes have followed each but the first one or two; else 0."""
    ahead = scope.first_fed - 1
    return ahead if 0 < ahead <= _MOST_AHEAD and ahead < scope.fed_turns == scope.total - ahead else 0
