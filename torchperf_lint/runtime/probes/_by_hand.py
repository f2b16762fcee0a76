"""Training whose parameters the script updates by itself, after another stage had an optimizer.

No step tells of it. What does: backward passes after two batches of a loader reach the same leaves, and no optimizer
has had any of these. An attack on what was trained reaches that; where it is frozen, only the batch itself.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.scope import Scope
    from torchperf_lint.runtime.session import Session

_MOST_NODES = 5000
"""Some 5 ms."""
_MOST_LOOKS = 100
_Batch = tuple["Scope", int]


class ByHand:
    """Looks at few backward passes of each loader that no optimizer has stepped on."""

    def __init__(self, session: Session, torch: Any, probe: str) -> None:  # noqa: ANN401
        self._session, self._torch, self._scopes = session, torch, session.recorder.scopes
        self._look = session.guarded(probe, self._looks)
        self.restart()

    def restart(self) -> None:
        """A forked child looks for itself."""
        self._looked = 0
        self._open: set[object] = set()
        """Loaders to be looked at."""
        self._first: dict[object, tuple[_Batch, list[weakref.ref[Any]]]] = {}
        """Loader -> a batch, and the leaves that its backward pass reached."""
        self._done: set[object] = set()

    def begins(self, loader: object) -> None:
        """A pass over a loader begins."""
        if loader in self._done or self._looked >= _MOST_LOOKS or self._scopes.has_learnt_from(loader):
            return
        self._open.add(loader)
        if self._look not in self._session.on_backward:
            self._session.on_backward.append(self._look)

    def _looks(self, tensors: Any) -> None:  # noqa: ANN401
        """Before each backward pass, while there is a loader to be looked at."""
        self._session.recorder.drain()
        self._open = {loader for loader in self._open if not self._scopes.has_learnt_from(loader)}
        if not self._open or self._looked >= _MOST_LOOKS:
            self._session.on_backward.remove(self._look)
            return
        scope = self._scopes.current
        if self._session.timeline.steps and scope.loader in self._open:
            self._looks_at(scope, tensors if isinstance(tensors, (list, tuple)) else (tensors,))

    def _looks_at(self, scope: Scope, tensors: Iterable[Any]) -> None:
        batch = (scope, scope.turn)
        known = self._first.get(scope.loader)
        if known is not None and known[0] == batch:
            return
        self._looked += 1
        # Tensors of other kinds, and modes that the script is in, are not to hear of our questions.
        with self._torch._C.DisableTorchFunction():
            leaves = list(leaves_of(tensors))
        if known is None:
            self._first[scope.loader] = batch, [weakref.ref(leaf) for leaf in leaves]
            return
        before = {id(leaf) for leaf in (reference() for reference in known[1]) if leaf is not None}
        lasting = before & set(map(id, leaves))
        if lasting and lasting.isdisjoint(self._session.trained):
            self._scopes.learns_by_hand(scope)
        self._open.discard(scope.loader)
        self._done.add(scope.loader)
        del self._first[scope.loader]


def leaves_of(tensors: Iterable[Any]) -> Iterator[Any]:
    """What a backward pass from these tensors reaches, as far as the graph is no larger than some."""
    waiting = [node for node in (getattr(tensor, "grad_fn", None) for tensor in tensors) if node is not None]
    seen = set(waiting)
    while waiting and len(seen) < _MOST_NODES:
        node = waiting.pop()
        leaf = getattr(node, "variable", None)
        if leaf is not None:
            yield leaf
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
