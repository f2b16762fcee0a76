"""What follows the last batch of an evaluation within a training loop, until the next batch tells whose it is.

    for step, batch in enumerate(loader):
        train(batch)
        if step % 100 == 0:
            evaluate(validation)          <- a pass of its own, which ends
            torch.save(net.state_dict())  <- neither evaluation, nor outside of every loop: in some of the steps

Once the training pass goes on, it was of the step before. A checkpoint ends an evaluation that has not been seen to end
(`next(batches)`, a loop that is left), unless that reads on: what is computed from each batch may be saved, too. What
no pass claims is outside of every loop. Torch-free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.runtime.scope import Scope

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter


class Aftermath:
    """That of one process; `scope` is current meanwhile."""

    def __init__(self, root: Scope) -> None:
        self._root = root
        self.scope = Scope(lambda: True)
        self.scope.earlier = {}
        self._of: Scope | None = None
        """The pass that may not have ended yet."""
        self.outer: Scope | None = None
        """The training pass that may go on."""

    def follows(self, scope: Scope, otherwise: Scope, *, ended: bool = True) -> Scope:
        """What is current once this pass has ended, or may have (not `ended`)."""
        outer = None if scope.training else scope.around
        if outer is not None and (outer.ended or outer.gone):
            outer = None
        if outer is None and ended:
            return otherwise
        if outer is not self.outer:
            self._ends()
        self._of, self.outer = None if ended else scope, outer
        self.scope.turn += 1
        return self.scope

    def comes(self, scope: Scope, current: Scope) -> None:
        """A batch of this pass is asked for, or has come."""
        if scope is not current and scope is not self._of:
            trains = current.training and current is not self._root
            scope.around = self.outer if current is self.scope else current if trains else None
        if scope is self._of or scope is self.outer:
            self._belongs_to(scope)
            self._of = None if scope is self._of else self._of
            self._ends()
        elif self.outer is None or self.outer.ended or self.outer.gone:
            self._ends()

    def trains(self) -> Scope:
        """A backward pass follows: where what is current belongs."""
        of = self._of
        scope = of if of is not None and of.fetched_since_backward and not of.ended else self._root
        self._belongs_to(scope)
        self._of = None
        self._ends()
        return scope

    def _belongs_to(self, scope: Scope) -> None:
        for counter, (_, count, steps) in self.scope.touched.copy().items():
            known = scope.touched.setdefault(counter, [0, 0, 0])
            before, turn, step = self._before(counter)
            known[0] += before is not scope or turn != scope.turn
            known[1] += count
            known[2] += steps if before is not scope or step != counter.last else 0
            counter.scope, counter.turn = scope, scope.turn
        self.scope.touched.clear()
        if scope is self._of:
            self._times(scope)

    def _before(self, counter: Counter) -> tuple[Scope | None, int, int]:
        earlier = self.scope.earlier
        return (earlier or {}).get(counter, (None, 0, 0))

    def _times(self, scope: Scope) -> None:
        for segment, (seconds, times) in self.scope.segments.items():
            total = scope.segments.setdefault(segment, [0.0, 0])
            total[0] += seconds
            total[1] += times
        self.scope.segments.clear()

    def _ends(self) -> None:
        """Nobody claims what is left, whose time was spent outside; of the batch before a checkpoint nobody learns."""
        if self._of is not None and self.outer is not None:
            self._of.fetched_since_backward = False
        self._times(self._root)
        self.scope.touched.clear()
        self.scope.earlier = {}
        self._of = self.outer = None
