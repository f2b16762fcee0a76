"""Which loop an event belongs to: training, evaluation, or neither, decided once the loop has shown what it is.

A scope is one pass over a loader. It is training as soon as a backward pass follows its batches, and evaluation when
it ended without one; until then its figures wait. Where optimizers step, one of them must have done so on what its
loader gave: evaluation under attack, or of saliency, has backward passes, too. A pass that was left early may look fed
when training goes on elsewhere: it is training only if its batch came last, or if it was fed before an earlier backward
pass, too. Outside every pass stands the root scope, whose turns are optimizer steps: it is the loop of scripts that
have no loader, but for the evaluation between its steps (evaluation_runs.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.evaluation_runs import EvaluationRuns
from torchperf_lint.runtime.first_step import FirstStep
from torchperf_lint.runtime.touched import Touched, add

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.segments import Segments
    from torchperf_lint.runtime.sites import Key


class Scope:
    """One pass over a loader, or what is outside of all."""

    __slots__ = (
        "alive",
        "asked",
        "batches",
        "due",
        "ended",
        "fed",
        "fetched_since_backward",
        "gone",
        "learnt",
        "loader",
        "segments",
        "touched",
        "training",
        "turn",
    )

    def __init__(self, alive: Callable[[], object | None], loader: object = None) -> None:
        self.loader = loader
        """What stands for the loader that it is a pass over; None where that is not known."""
        self.turn = 0
        """Batches fetched (root: optimizer steps)."""
        self.batches = 0
        """Batches not yet counted as training's or evaluation's."""
        self.training = False
        self.ended = False
        self.asked = False
        """Whether a batch is being made."""
        self.fed = False
        """Whether an earlier backward pass followed its batches (root: came without one)."""
        self.fetched_since_backward = False
        self.due = False
        """Whether a backward pass has followed its batches since the last step of an optimizer."""
        self.learnt = False
        """Whether an optimizer has stepped on it."""
        self.alive = alive
        """The iterator as it is now, which marks that are set later must not ask."""
        self.gone = False
        """Whether the iterator is no more, in the order of marks."""
        self.touched: Touched = {}
        self.segments: Segments = {}
        """After the warm-up."""


class Totals:
    """What scopes of one kind add up to."""

    def __init__(self) -> None:
        self.batches = 0
        self.segments: Segments = {}

    def add(self, scope: Scope) -> None:
        """Take over what the scope has gathered."""
        self.batches += scope.batches
        for segment, (seconds, times) in scope.segments.items():
            total = self.segments.setdefault(segment, [0.0, 0])
            total[0] += seconds
            total[1] += times
        scope.batches = 0
        scope.segments.clear()


class Scopes:
    """All scopes of a process, and the one that is current."""

    def __init__(self) -> None:
        self.steady = False
        """Whether the warm-up is over."""
        self.later: Callable[..., object] = lambda function, *args: function(*args)
        """How to call what must keep its place among marks that may be set later; the recorder's `later`."""
        self.restart()

    def restart(self) -> None:
        """Forget everything: a forked child starts afresh."""
        self.steady = False
        self.steps = 0
        """Optimizer steps that have closed, whatever the scope."""
        self.root = Scope(lambda: True)
        self.current = self.root
        self.runs = EvaluationRuns(self.root, Scope(lambda: True))
        self.train, self.evaluation, self.outside = Totals(), Totals(), Totals()
        self._open: dict[int, Scope] = {}
        """By the iterator's address."""
        self._over: list[Scope] = []
        """Passes that have ended and are not settled yet."""
        self._learnt: set[object] = set()
        """Loaders of passes that an optimizer has stepped on."""
        self._just_ended: Scope | None = None
        self._answering = False
        """Whether a model has been called outside of every pass before anything trained."""
        self._set_up: Touched = {}
        """Of the root, before the first such call."""
        self._answers: Touched = {}
        """Of the root, in such calls but for the last."""
        self._answered: Touched = {}
        """What of these was handed over as evaluation's."""
        self._first: FirstStep | None = None
        """Of the root, where modules were called several times before it, until it is known what belongs to it."""
        self._changed: set[Counter] = set()

    def begins(self, iterator: Any, loader: object = None) -> Scope:  # noqa: ANN401 -- any object
        """A new pass; persistent workers make every pass with the same iterator."""
        known = self._open.pop(id(iterator), None)
        if known is not None:
            known.ended = True
            self._over.append(known)
            if self.current is known:
                self.current = self.root
        alive = weakref.ref(iterator, lambda _: self.later(self._lost, scope))
        scope = self._open[id(iterator)] = Scope(alive, loader)
        return scope

    @staticmethod
    def _lost(scope: Scope) -> None:
        scope.gone = True

    def of(self, iterator: Any) -> Scope:  # noqa: ANN401 -- any object
        """The scope of a loader's iterator."""
        scope = self._open.get(id(iterator))
        if scope is None or scope.ended or scope.alive() is not iterator:
            return self.begins(iterator)
        return scope

    def asked(self, scope: Scope) -> None:
        """A batch of this pass is being made: what happens meanwhile belongs to the turn that it begins."""
        scope.turn += 1
        scope.asked = True
        self._goes_to(scope)

    def fetched(self, scope: Scope) -> None:
        """A batch of this pass has arrived: a new turn begins, or has begun when it was asked for."""
        scope.turn += not scope.asked
        scope.asked = False
        scope.batches += 1
        scope.fetched_since_backward = True
        self._goes_to(scope)

    def _goes_to(self, scope: Scope) -> None:
        """What comes next is of this pass, and the one before, if it was left, is over."""
        self._trains_again()
        if self.current.gone and self.current is not scope:
            self.current.due = False
        self.current = scope
        self._first = None

    def exhausted(self, scope: Scope) -> None:
        """The pass has come to its end."""
        scope.ended = True
        scope.asked = False
        self.current = self.root
        self._just_ended = scope

    def trains(self, *, steps: bool = False) -> None:
        """A backward pass, or (`steps`) an optimizer step: it is fed by the passes whose batches came since the last.
        """
        self._trains_again()
        feeds = False
        for scope in self._open.values():
            if scope.fetched_since_backward and self._goes_on(scope):
                scope.training = scope.training or scope.fed or scope is self.current
                scope.fed = scope.due = feeds = True
                scope.fetched_since_backward = False
        if not feeds:
            self._trains_outside(steps=steps)
        elif self._answering:
            add(self._answers, self.root.touched)
            self.root.touched.clear()
            self._were_before()
            self._forget_answers()

    def warm_up_again(self) -> None:
        """What has been timed was evaluation; the passes that go on begin to train."""
        self.steady = False
        for scope in (self.root, *self._open.values()):
            if scope is self.root or self._goes_on(scope):
                scope.segments.clear()

    def _goes_on(self, scope: Scope) -> bool:
        """Of `next(iter(loader))` the iterator is gone before its batch is used."""
        return not scope.ended and (not scope.gone or (scope is self.current and scope.turn == 1))

    def _trains_outside(self, *, steps: bool) -> None:
        """Loaders that look one batch ahead (accelerate's) end before their last batch is trained on, and are still
        there; of one that is not, an optimizer may step on the whole pass.
        """
        if self.current.gone:
            self.current = self.root
        if self.current is not self.root:
            return
        ended = self._just_ended
        if ended is None or not ended.training or (ended.gone and not steps):
            if not self.root.fed:
                self._answered_so_far()
            self.root.training = self.root.training or self.root.fed
            self.root.fed = True
            return
        self._just_ended = None
        self.root.fed = False
        self.current = ended
        if ended not in self._over and ended not in self._open.values():
            self._over.append(ended)

    def _answered_so_far(self) -> None:
        """The first backward pass: calls of a model before it, as a replay buffer is filled, were no training steps,
        but for the last, which is the first step's forward pass, and for what the next steps show to be the first's,
        too. Where there was only one, all belongs to that step.
        """
        if self._answering and self.root.turn > 1:
            self._were_before()
            self._first = FirstStep(self._set_up, self._answers, self._answered)
        else:
            self._take_back()
            add(self.root.touched, self._answered)
            add(self.root.touched, self._set_up)
        for figures in self.root.touched.values():
            figures[2] = 1  # all of it is of the first step
        self._forget_answers()

    def _were_before(self) -> None:
        """Calls of a model outside of every pass were before training, and no evaluation."""
        self._take_back()
        for answers in (self._answered, self._answers):
            for counter, (_, count, _) in answers.items():
                counter.before += count
        self._changed.update(self._answers)

    def _take_back(self) -> None:
        """What was handed over as evaluation's is not."""
        for counter, (turns, count, _) in self._answered.items():
            counter.eval_turns -= turns
            counter.evaluated -= count
            counter.eval_of = 0
        self._changed.update(self._answered)

    def _forget_answers(self) -> None:
        self._answering = False
        self._set_up, self._answers, self._answered = {}, {}, {}

    def is_outside(self) -> bool:
        """Whether no pass over a loader is under way."""
        return self.current is self.root or self.current is self.runs.calls

    def evaluates(self, key: Key | None, *, opens: bool) -> None:
        """A call of what is trained, in evaluation mode and without gradients, begins.

        `opens`: nothing that could be trained has been called since the last step of an optimizer.
        """
        outside = self.is_outside() and self._is_training(self.root)
        if outside and self.runs.call_begins(key, opens=opens):
            self.current = self.runs.calls

    def evaluated(self) -> None:
        """It has ended."""
        if self.current is self.runs.calls:
            self.runs.call_ends()

    def _trains_again(self) -> None:
        if self.current is self.runs.calls:
            self.runs.ends()
            self.current = self.root

    def answers(self) -> None:
        """A model is called where nothing trains: outside of every pass, that is a turn."""
        if self.current is not self.root:
            return
        add(self._answers if self._answering else self._set_up, self.root.touched)
        self.root.touched.clear()
        self.root.turn += 1
        self._answering = True

    def learns(self) -> None:
        """An optimizer has stepped, be it that this closes a step or not."""
        current = self.current
        if current is self.root:
            current.learnt = True
        for scope in (current, *self._open.values()):
            if scope.due and (scope is current or not scope.ended):
                scope.learnt = True
                self._learnt.add(scope.loader)
            scope.due = False

    def _is_training(self, scope: Scope) -> bool:
        """Without any step of an optimizer, backward passes are all there is to go by."""
        known = scope.learnt or (scope.loader is not None and scope.loader in self._learnt)
        return scope.training and (known or not self.steps)

    def stepped(self) -> None:
        """An optimizer step has closed."""
        self.learns()
        self.steps += 1
        if self.current is self.root:
            self.root.turn += 1
        elif self.current.ended:
            self.current = self.root
        self.runs.closes()
        if self._first is not None:
            self._first_is_known(self._first.closes())

    def _first_is_known(self, changed: set[Counter] | None) -> None:
        if changed is not None:
            self._first = None
            self._changed |= changed

    def settle(self) -> Iterator[Counter]:
        """Hand figures of scopes whose kind is known to the totals; yields the counters that changed."""
        for number, scope in list(self._open.items()):
            if scope.ended or scope.gone:
                self._over.append(self._open.pop(number))
            elif self._is_training(scope):
                yield from self._hand_over(scope, self.train)
        over, self._over = self._over, []
        for scope in over:
            yield from self._hand_over(scope, self.train if self._is_training(scope) else self.evaluation)
            if self.current is scope:
                self.current = self.root
        yield from self._changed
        self._changed.clear()
        if self._answering:
            add(self.root.touched, self._answers)
            self._answers.clear()
            add(self._answered, self.root.touched)
        trains = self._is_training(self.root)
        self.runs.hands_over(trains=trains)
        if not trains and not self._answering and (self.root.fed or not self.steps):
            self.outside.add(self.root)  # it may be the first step's: what was counted waits until that is known
            return
        alone = self.evaluation if self._answering else self.outside
        yield from self._hand_over(self.root, self.train if trains else alone)
        yield from self.runs.settle(self.steps)

    def _hand_over(self, scope: Scope, totals: Totals) -> Iterator[Counter]:
        for counter, (turns, count, steps) in scope.touched.items():
            if totals is self.train:
                counter.train_turns += turns
                counter.trained += count
                counter.train_steps += steps
            elif totals is self.evaluation:
                counter.eval_turns += turns
                counter.evaluated += count
                # The root is handed over again and again: its turns so far are those of its answers.
                root = max(counter.eval_of, scope.turn)
                counter.eval_of = root if scope is self.root else counter.eval_of + scope.batches
            yield counter
        scope.touched.clear()
        totals.add(scope)
