"""Which optimizer's step closes a step of the run. Torch-free."""

from __future__ import annotations

_MOST_BETWEEN = 25
"""So many steps of other optimizers, and the first is that of an earlier stage; GANs take 5 of one for 1 of another."""


class Closing:
    """The optimizer that was seen first closes steps, until another has taken its place."""

    def __init__(self) -> None:
        self.calls: dict[int, int] = {}
        """Optimizer -> how often it has stepped."""
        self._first: int | None = None
        self._without_first = 0

    def closes(self, optimizer: int) -> bool:
        """It has stepped: whether that closes a step of the run."""
        self.calls[optimizer] = self.calls.get(optimizer, 0) + 1
        if optimizer == self._first:
            self._without_first = 0
            return True
        self._without_first += 1
        if self._first is not None and self._without_first <= _MOST_BETWEEN:
            return False
        self._first, self._without_first = optimizer, 0
        return True

    def gone(self, optimizer: int) -> None:
        """It is no more: the next one that steps closes steps, if this one did."""
        if optimizer == self._first:
            self._first = None
