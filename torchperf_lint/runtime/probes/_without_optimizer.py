"""Steps of a run that has no optimizer, and whose backward passes no loader feeds: each backward pass is one.

    loss.backward()
    for p in model.parameters():
        p.data.add_(p.grad, alpha=-lr)

Nothing else tells of its steps. Where a loader feeds them, its batches are the turns (and training by hand after
another stage had an optimizer is what `_by_hand` looks for). As soon as an optimizer is made, its steps are the run's.
Either takes back what has been counted so far: those were no steps.
"""

from __future__ import annotations

from threading import get_ident
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes._by_hand import leaves_of
from torchperf_lint.runtime.withdrawal import withdraw

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NO_OPTIMIZER = 0
"""The number of the optimizer that there is not; others count from 1."""
_LOOKS = 2
"""Backward passes whose leaves are looked at: they are what is trained."""


class WithoutOptimizer:
    """One per process; `is_so` until an optimizer is made, or a loader feeds a backward pass."""

    def __init__(self, session: Session, torch: Any, probe: str) -> None:  # noqa: ANN401
        self._session, self._torch, self._timeline = session, torch, session.timeline
        self.is_so = True
        self._look = session.guarded(probe, self._looks)
        self.restart()

    def restart(self) -> None:
        """A forked child trains what it trains."""
        self._looked = 0
        self._session.trained_by_hand.clear()
        if self.is_so and self._look not in self._session.on_backward:
            self._session.on_backward.append(self._look)

    def made(self) -> None:
        """An optimizer is made."""
        if self.is_so:
            self._session.recorder.drain()  # what was put off came before
            self._is_not()

    def _is_not(self) -> None:
        self.is_so = False
        if self._timeline.steps:
            withdraw(self._timeline)
            for callback in self._session.on_withdrawal:
                callback()

    def backward_begins(self, key: Key | None, at: float, thread: int) -> None:
        """A mark of the timeline's, which tells what feeds the pass."""
        timeline = self._timeline
        timeline.backward_begins(key, at, thread)
        if self.is_so and timeline.batches and not self._session.recorder.scopes.is_outside():
            self._is_not()

    def backward_ends(self, key: Key | None, at: float, thread: int) -> None:
        """A mark of the timeline's: one that is within no other closes a step."""
        if self._timeline.backward_ends(key, at, thread) and self.is_so:
            self._timeline.step_ends(key, NO_OPTIMIZER, at, thread)

    def stepped(self) -> None:
        """Called after each backward pass, when that mark has been set or put off."""
        if self.is_so:
            self._timeline.stepped_on = get_ident()
            self._session.recorder.tick()

    def _looks(self, tensors: Any) -> None:  # noqa: ANN401
        """Before a backward pass."""
        self._looked += 1
        if self.is_so and self._looked <= _LOOKS:
            with self._torch._C.DisableTorchFunction():
                leaves = leaves_of(tensors if isinstance(tensors, (list, tuple)) else (tensors,))
                found = {id(leaf) for leaf in leaves if isinstance(leaf, self._torch.nn.Parameter)}
            self._session.trained_by_hand |= found
        else:
            self._session.on_backward.remove(self._look)
