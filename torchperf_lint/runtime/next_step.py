"""Where the next step of a loop without a loader begins, and which events stand between that and the step before.

    loss = evaluate(net)                <- may run before the first step, too, and wait at the same lines
    while True:
        x = make_batch().to(device)     <- leads a step
        net(x).sum().backward()
        optimizer.step()
        log(loss.item())                <- follows one

A step begins with a call of a model, or a backward pass, where there was one before the first step closed: what a loop
calls only after its optimizer's step (a discriminator again, an averaged model) belongs to the step before. What leads
a step is what came last before such a call both in the first step and after a later one. Torch-free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.sites import Key

_MOST = 256
"""Events that are remembered before a call."""


class NextStep:
    """What a run that ends after some steps has seen of its loop."""

    def __init__(self) -> None:
        self._recent: deque[Counter] = deque(maxlen=_MOST)
        """Since the last step closed."""
        self._before: dict[Key | None, tuple[tuple[Counter, ...], tuple[Counter, ...]]] = {}
        """What came before the first and before the last call at each place that the first step has."""
        self._leads: set[Counter] = set()
        self._follows: set[Counter] = set()
        self._closed = 0
        self._begun = True
        """Whether the next step has, since the last one closed."""
        self._ends = False
        self._over = False

    def happens(self, counter: Counter | None) -> bool:
        """An event is about to be counted, None if it is the first of its kind; False if it is not to be."""
        if self._over or (self._ends and counter in self._leads):
            self._over = True
            return False
        return True

    def counted(self, counter: Counter) -> None:
        """It has been."""
        self._recent.append(counter)

    def calls(self, key: Key | None) -> bool:
        """A model is called or a backward pass begins there; whether a step does, which is not the first."""
        if not self._closed:
            now = tuple(self._recent)
            self._before[key] = (self._before.get(key, (now,))[0], now)
            return False
        if key not in self._before:
            return False
        if not self._begun:
            self._learn(tuple(self._recent), self._before[key])
            self._begun = True
        return True

    def closes(self) -> None:
        """A step has closed."""
        self._closed += 1
        self._begun = False
        self._recent.clear()

    def ends(self) -> None:
        """What leads a step is from now on that of one that does not count."""
        if self._closed == 1:  # no later step has shown what leads one, and what follows
            self._leads = {counter for before in self._before.values() for counter in before[-1]}
        self._leads -= self._follows
        self._ends = True

    def _learn(self, events: tuple[Counter, ...], others: Iterable[tuple[Counter, ...]]) -> None:
        shared = max(_shared_end(events, other) for other in others)
        self._leads.update(events[len(events) - shared :])
        self._follows.update(events[: len(events) - shared])


def _shared_end(events: tuple[Counter, ...], others: tuple[Counter, ...]) -> int:
    """How many events the two have in common at their ends."""
    shared = 0
    for one, other in zip(reversed(events), reversed(others), strict=False):
        if one is not other:
            break
        shared += 1
    return shared
