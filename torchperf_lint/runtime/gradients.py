"""Which passes over loaders have computed gradients that an optimizer may still step on. Torch-free.

Gradients are summed until `zero_grad()`: several passes may come before one step, and each of them is training. What
was computed under attack, or of saliency, is thrown away before the step, in the training loop that follows. Where
gradients are thrown away by other means, nobody tells: there, of what was left before the step, a pass has no part in
it whose place some other loader, or none, is known to take alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.scope import Scope

Parameters = frozenset[int]
"""By address."""
_MOST = 10_000
"""So many passes may wait for a step."""


class Gradients:
    """Those of one process."""

    def __init__(self, owned: dict[int, Parameters]) -> None:
        """`owned`: the parameters of each optimizer that lives."""
        self._owned = owned
        self._due: dict[Scope, dict[Parameters, None]] = {}
        """Passes that wait for a step, with the parameters whose gradients have been thrown away since."""
        self._told = False
        """Whether gradients have been seen thrown away."""
        self._alone: set[object] = set()
        """Where the only backward passes before some step were: loaders, or passes over a loader not known."""

    def come(self, scope: Scope) -> None:
        """A backward pass has followed batches of this pass."""
        self._due.pop(scope, None)
        self._due[scope] = {}
        if len(self._due) > _MOST:
            del self._due[next(iter(self._due))]

    def are_thrown_away(self, parameters: Parameters) -> None:
        """Those of these parameters; what no optimizer can step on any more waits no longer."""
        self._told = True
        for scope, thrown in list(self._due.items()):
            thrown[parameters] = None
            if self._owned and all(_covers(thrown, owned) for owned in self._owned.values()):
                del self._due[scope]

    def stepped_on(self, optimizer: int, current: Scope) -> list[Scope]:
        """An optimizer steps: the passes that it learns from; `current`: where the last backward pass was."""
        owned = self._owned.get(optimizer, frozenset())
        learnt = [scope for scope, thrown in self._due.items() if not _covers(thrown, owned)]
        if not self._told:
            learnt = self._likely(learnt, current)
            self._due.clear()
        for scope in learnt:
            self._due.pop(scope, None)
        return learnt

    def _likely(self, due: list[Scope], current: Scope) -> list[Scope]:
        here = current.loader or current
        if here in self._alone:
            return [scope for scope in due if scope is current or not (scope.ended or scope.gone)]
        if all(scope is current for scope in due):
            self._alone.add(here)
        return due


def _covers(thrown: dict[Parameters, None], owned: Parameters) -> bool:
    return owned in thrown or (bool(thrown) and owned.issubset(frozenset().union(*thrown)))
