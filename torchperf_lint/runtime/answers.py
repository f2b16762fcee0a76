"""Calls of a model outside of every pass over a loader before anything has trained: each is a turn. Torch-free.

Where nothing trains after them, they are what the run does: evaluation, a server's answers. Where a loop without a
loader begins to train, the last of them is its first step's forward pass, and those before it filled a buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.runtime.call_places import CallPlaces
from torchperf_lint.runtime.first_step import FirstStep
from torchperf_lint.runtime.touched import Touched, add

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.scope import Scope
    from torchperf_lint.runtime.sites import Key


class Answers:
    """Those of one process, of its root scope."""

    def __init__(self, changed: set[Counter]) -> None:
        """`changed`: takes the counters whose figures change."""
        self._changed = changed
        self.places = CallPlaces()
        self.forget()

    def forget(self) -> None:
        """It trains, or nothing has been called."""
        self.come = False
        """Whether a model has been called."""
        self._set_up: Touched = {}
        """Before the first such call."""
        self._calls: Touched = {}
        """In such calls but for the last."""
        self._given: Touched = {}
        """What of these was handed over as evaluation's."""

    def begins(self, root: Scope, key: Key | None) -> None:
        """A model is called there."""
        self.places.call(key, root.touched)
        add(self._calls if self.come else self._set_up, root.touched)
        root.touched.clear()
        root.turn += 1
        self.come = True

    def gives(self, root: Scope) -> None:
        """What has come so far is about to be handed over as evaluation's."""
        self.places.goes_on(root.touched)
        add(root.touched, self._calls)
        self._calls.clear()
        add(self._given, root.touched)

    def were_before(self, root: Scope) -> None:
        """A loader feeds what trains: all were before it."""
        add(self._calls, root.touched)
        root.touched.clear()
        self._count_before()
        self.forget()

    def lead_to(self, root: Scope) -> FirstStep | None:
        """The first backward pass outside of every pass: calls before it, as a replay buffer is filled, were no
        training steps, but for the last, which is the first step's forward pass, and for what the next steps show to be
        the first's, too. Where there was only one, all belongs to that step.
        """
        first = None
        if self.come and root.turn > 1:
            self._count_before()
            first = FirstStep(self._set_up, self._calls, self._given)
        else:
            self._take_back()
            add(root.touched, self._given)
            add(root.touched, self._set_up)
        for figures in root.touched.values():
            figures[2] = 1  # all of it is of the first step
        self.forget()
        return first

    def _count_before(self) -> None:
        """They were before training, and no evaluation."""
        self._take_back()
        for calls in (self._given, self._calls):
            for counter, (_, count, _) in calls.items():
                counter.before += count
        self._changed.update(self._calls)

    def _take_back(self) -> None:
        """What was handed over as evaluation's is not."""
        for counter, (turns, count, _) in self._given.items():
            counter.eval_turns -= turns
            counter.evaluated -= count
            counter.eval_of = 0
        self._changed.update(self._given)
