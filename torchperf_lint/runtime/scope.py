"""One pass over a loader, as it is seen, and what passes of a kind add up to. Torch-free."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.segments import Segments
    from torchperf_lint.runtime.sites import Key
    from torchperf_lint.runtime.touched import Touched


Place = tuple[int, "Key | None"]
"""The site where a loader was made, and what begins the pass."""


class Scope:
    """One pass over a loader, or what is outside of all."""

    __slots__ = (
        "alive",
        "around",
        "asked",
        "batches",
        "drawn",
        "earlier",
        "ended",
        "fed",
        "fed_turns",
        "fetched_since_backward",
        "first_fed",
        "gone",
        "learnt",
        "loader",
        "place",
        "segments",
        "total",
        "touched",
        "training",
        "turn",
        "within",
    )

    def __init__(
        self, alive: Callable[[], object | None], loader: object = None, place: Place | None = None
    ) -> None:
        self.loader = loader
        """What stands for the loader that it is a pass over; None where that is not known."""
        self.place = place
        """Where it is: passes over loaders made at one place, begun at one place, are of one loop."""
        self.turn = 0
        """Batches fetched (root: optimizer steps)."""
        self.batches = 0
        """Batches not yet counted as training's or evaluation's."""
        self.total = 0
        """All batches that have arrived."""
        self.first_fed = self.fed_turns = 0
        """The turn of the first backward pass, and how many turns have led to one."""
        self.training = False
        self.ended = False
        self.asked = False
        """Whether a batch is being made."""
        self.fed = False
        """Whether an earlier backward pass followed its batches (root: came without one)."""
        self.fetched_since_backward = False
        self.learnt = False
        """Whether an optimizer has stepped on it."""
        self.alive = alive
        """The iterator as it is now, which marks that are set later must not ask."""
        self.gone = False
        """Whether the iterator is no more, in the order of marks."""
        self.within: tuple[Scope, int] | None = None
        """The pass that waits meanwhile for a backward pass, and its turn."""
        self.drawn = False
        """Whether no model has been called before, nor within it."""
        self.around: Scope | None = None
        """The training pass from which it was last read."""
        self.touched: Touched = {}
        self.earlier: dict[Counter, tuple[Scope | None, int, int]] | None = None
        """Of what is touched: scope, turn and step in which it came before; None where nobody asks."""
        self.segments: Segments = {}
        """After the warm-up."""

    def is_only_drawn(self) -> bool:
        """`shape = next(iter(loader))[0].shape` before there is a model: what is set up meanwhile is no evaluation."""
        return self.drawn and self.gone and self.turn == 1 and not (self.fed or self.training)

    def drops_unused(self) -> None:
        """It is left: `if i == 10: break` leaves with a batch that has been fetched, and then not used.

        Known where each of several batches before it had some event, and it has none; what is fed to backward passes
        is used.
        """
        earlier = self.turn - 1
        touched = self.touched.copy()  # at once: another thread may have an event meanwhile
        last = {counter.turn for counter in touched if counter.scope is self}
        always = earlier > 1 and any(turns == earlier for turns, *_ in touched.values())
        if always and self.turn not in last and not self.fed:
            self.batches -= 1


TRAINING, EVALUATION = "training", "evaluation"


class Totals:
    """What scopes of one kind add up to."""

    def __init__(self, kind: str | None = None) -> None:
        self._kind = kind
        self.batches = 0
        self.segments: Segments = {}

    def take(self, scope: Scope, *, root: bool = False) -> Iterator[Counter]:
        """Take over what the scope has gathered, and credit the counters with it."""
        for counter, (turns, count, steps) in scope.touched.copy().items():
            if self._kind == TRAINING:
                counter.train_turns += turns
                counter.trained += count
                counter.train_steps += steps
            elif self._kind == EVALUATION:
                counter.eval_turns += turns
                counter.evaluated += count
                # The root is handed over again and again: its turns so far are those of its answers.
                counter.eval_of = max(counter.eval_of, scope.turn) if root else counter.eval_of + scope.batches
            yield counter
        scope.touched.clear()
        self.add(scope)

    def add(self, scope: Scope) -> None:
        """Take over its time and its batches."""
        self.batches += scope.batches
        for segment, (seconds, times) in scope.segments.items():
            total = self.segments.setdefault(segment, [0.0, 0])
            total[0] += seconds
            total[1] += times
        scope.batches = 0
        scope.segments.clear()
