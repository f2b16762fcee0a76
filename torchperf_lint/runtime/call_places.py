"""Of how many calls of a model an event's turns are, where several models answer in turn. Torch-free.

    memory = encoder(x)             <- 4 calls
    while not done:                 <- 24 calls of the decoder, and an `.item()` after each of them
        scores = decoder(memory, token)
        token = scores.argmax().item()

A turn lasts from one call to the next. What comes only after calls of one place, or only before such, is of that many
turns; not so where the place is called seldom: beside a model that is called now and then, nothing comes every turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.sites import Key

_SEVERAL = 2
_OFTEN = 0.5
"""The share of the calls of the place with most from which a place makes turns of its own."""


class CallPlaces:
    """The calls of one process until it trains."""

    def __init__(self) -> None:
        self._calls: dict[Key | None, int] = {}
        self._last: Key | None = None
        self._after: dict[Counter, set[Key | None]] = {}
        """After calls of which places it has come."""
        self._before: dict[Counter, set[Key | None]] = {}
        self._latest: set[Counter] = set()
        """Since the last call."""

    def call(self, key: Key | None, touched: Iterable[Counter]) -> None:
        """A model is called there; `touched`: what has come since the last call."""
        self.goes_on(touched)
        for counter in self._latest:
            self._before.setdefault(counter, set()).add(key)
        self._latest.clear()
        self._calls[key] = self._calls.get(key, 0) + 1
        self._last = key

    def goes_on(self, touched: Iterable[Counter]) -> None:
        """What has come since the last call is about to be handed over."""
        if self._calls:
            for counter in touched:
                self._after.setdefault(counter, set()).add(self._last)
                self._latest.add(counter)

    def counts(self) -> Iterator[Counter]:
        """Put right of how many turns each event is; those that changed."""
        if len(self._calls) < _SEVERAL:
            return
        most, whole = max(self._calls.values()), sum(self._calls.values())
        for counter, after in self._after.items():
            places = (after, self._before.get(counter, set()))
            numbers = [sum(self._calls[key] for key in keys) for keys in places if keys]
            enough = [number for number in numbers if number >= max(_OFTEN * most, counter.eval_turns)]
            of = min(enough, default=whole)
            if of != counter.eval_of:
                counter.eval_of = of
                yield counter
