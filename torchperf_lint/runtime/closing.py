"""Which optimizer's step closes a step of the run. Torch-free.

    for real in loader:                 <- one step of the run: the first optimizer closes it, the other's is part of it
        step_of(discriminator); step_of(generator)

    for index, batch in enumerate(loader):
        step_of(a if index % 3 else b)  <- as many steps as batches, whose turn it ever is
    for _ in range(7): step_of(a)
    for _ in range(6): step_of(b)       <- 13 steps: a loop of each optimizer

Where a loader feeds them, its batches tell. Where none does: an optimizer that steps several times in a row after the
first has done so has a loop of its own; and one whose steps begin with the call of a model that the first's begin with,
and which steps twice where the first steps once, is the other branch of one loop. Both show late: what it has done
since the first stepped last, which seemed to be part of that step, then counts as steps, too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.scope import Scope
    from torchperf_lint.runtime.sites import Key

_MOST_BETWEEN = 25
"""So many steps of other optimizers, and the first is that of an earlier stage; GANs take 5 of one for 1 of another."""
_IN_A_ROW = 4
"""So many of one and then of the other are loops of their own; agents take 2 or 3 of one for 2 or 3 of another."""


@dataclass(frozen=True)
class Joined:
    """A step of an optimizer that seems to be part of a step of the run."""

    optimizer: int
    leads: Key | None
    """The first call of a model since an optimizer stepped before it; None where none was seen."""


@dataclass
class Closing:
    """The optimizer that was seen first closes steps, until another has taken its place."""

    calls: dict[int, int] = field(default_factory=dict)
    """Optimizer -> how often it has stepped."""
    leads: Key | None = None
    """The first call of a model since an optimizer stepped, where no loader feeds training."""
    _joined: list[Joined] = field(default_factory=list)
    """Since a step of the run closed."""
    _were_steps: list[int] = field(default_factory=list)
    """Which of these have turned out to be steps, when one closes: positions."""
    _first: int | None = None
    _first_leads: Key | None = None
    _in_a_row: int = 0
    """How often the first has stepped without another in between."""
    _branches: set[int] = field(default_factory=set)
    """Optimizers that step in other turns of the loop in which the first does."""
    _fed: tuple[Scope, int] | None = None
    """The pass whose batch led to the step that closed last, and its turn."""
    _by_other: bool = False
    """Whether another than the first has closed it."""

    def closes(self, optimizer: int, scope: Scope | None = None) -> bool:
        """It has stepped, on a batch of this pass if any: whether that closes a step of the run."""
        self.calls[optimizer] = self.calls.get(optimizer, 0) + 1
        leads, self.leads = self.leads, None
        self._were_steps = []
        if self._first is None:
            self._takes_over(optimizer, leads, 1)
        elif scope is None and optimizer == self._first:
            self._finds_branches(leads)
        elif (scope is None or not self._is_turn(optimizer, scope)) and not self._has_branch(optimizer, leads):
            self._joined.append(Joined(optimizer, leads))
            own = [position for position, one in enumerate(self._joined) if one.optimizer == optimizer]
            if min(len(own), self._in_a_row) < _IN_A_ROW and len(self._joined) <= _MOST_BETWEEN:
                return False
            self._were_steps = own[:-1] if scope is None else []
            self._takes_over(optimizer, leads, len(own))
        elif optimizer == self._first:
            self._in_a_row = 1 if self._joined else self._in_a_row + 1
        self._fed = (scope, scope.turn) if scope is not None else None
        self._by_other = optimizer != self._first
        return True

    def settled(self) -> list[int]:
        """A step of the run has closed: which of the steps of optimizers since the one before were steps, too."""
        self._joined.clear()
        return self._were_steps

    def gone(self, optimizer: int) -> None:
        """It is no more: the next one that steps closes steps, if this one did."""
        if optimizer == self._first:
            self._first = None

    def _takes_over(self, optimizer: int, leads: Key | None, times: int) -> None:
        self._first, self._first_leads, self._in_a_row = optimizer, leads, times
        self._branches.clear()

    def _finds_branches(self, leads: Key | None) -> None:
        """The first has stepped: which of those that have meanwhile did so in other turns of one loop."""
        others = [one.optimizer for one in self._joined]
        self._in_a_row = 1 if others else self._in_a_row + 1
        self._first_leads = leads or self._first_leads
        if leads is None:
            return
        alike = {one.optimizer for one in self._joined if one.leads is leads}
        self._branches |= {other for other in alike if others.count(other) > 1}
        self._were_steps = [
            position
            for position, one in enumerate(self._joined)
            if one.optimizer in self._branches and one.leads is leads
        ]

    def _has_branch(self, optimizer: int, leads: Key | None) -> bool:
        return optimizer in self._branches and leads is not None and leads is self._first_leads

    def _is_turn(self, optimizer: int, scope: Scope) -> bool:
        """Whether a batch has come since a step closed, of the pass that led to it; of another where that is over."""
        if self._fed is None:
            return True
        last, turn = self._fed
        if scope is last:
            moved = scope.turn != turn
        elif scope.loader is not None and scope.loader is last.loader:
            moved = True
        else:
            moved = last.ended or (last.gone and last.total > 1)
        return moved or (optimizer == self._first and not self._by_other)
