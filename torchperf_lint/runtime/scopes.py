"""Which loop an event belongs to: training, evaluation, or neither, decided once the loop has shown what it is.

A scope is one pass over a loader. It is training as soon as a backward pass follows its batches, and evaluation when
it ended without one; until then its figures wait. Where optimizers step, one of them must have done so on what its
loader gave (gradients.py): evaluation under attack, or of saliency, has backward passes, too. A pass that was left
early may look fed when training goes on elsewhere: it is training only if its batch came last, or if it was fed before
an earlier backward pass, too. Outside every pass stands the root scope, whose turns are optimizer steps: it is the loop
of scripts that have no loader, but for the evaluation between its steps (evaluation_runs.py).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.aftermath import Aftermath
from torchperf_lint.runtime.call_places import CallPlaces
from torchperf_lint.runtime.doubtful import Doubts
from torchperf_lint.runtime.evaluation_runs import EvaluationRuns
from torchperf_lint.runtime.first_step import FirstStep
from torchperf_lint.runtime.gradients import Gradients, Parameters
from torchperf_lint.runtime.scope import EVALUATION, TRAINING, Place, Scope, Totals
from torchperf_lint.runtime.touched import Touched, add

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.sites import Key


class Scopes:
    """All scopes of a process, and the one that is current."""

    def __init__(self) -> None:
        self.steady = False
        """Whether the warm-up is over."""
        self.later: Callable[..., object] = lambda function, *args: function(*args)
        """How to call what must keep its place among marks that may be set later; the recorder's `later`."""
        self.owned: dict[int, Parameters] = {}
        """Optimizer -> the parameters that it steps on."""
        self.restart()

    def restart(self) -> None:
        """Forget everything: a forked child starts afresh."""
        self.steady = False
        self.steps = 0
        """Optimizer steps that have closed, whatever the scope."""
        self.root = Scope(lambda: True)
        self.current = self.root
        self.runs = EvaluationRuns(self.root, Scope(lambda: True))
        self.aftermath = Aftermath(self.root)
        self.train, self.evaluation, self.outside = Totals(TRAINING), Totals(EVALUATION), Totals()
        self._open: dict[int, Scope] = {}
        """By the iterator's address."""
        self._over: list[Scope] = []
        """Passes that have ended and are not settled yet."""
        self._learnt: set[object] = set()
        """Loaders of passes that an optimizer has stepped on, and where these passes were."""
        self._gradients = Gradients(self.owned)
        self._fed: list[Scope] = []
        """Whose batches the last backward pass followed, until an optimizer steps."""
        self._doubts = Doubts()
        self._just_ended: Scope | None = None
        self._called = False
        """Whether a model has been called within a pass."""
        self._answering = False
        """Whether a model has been called outside of every pass before anything trained."""
        self._set_up: Touched = {}
        """Of the root, before the first such call."""
        self._places = CallPlaces()
        self._answers: Touched = {}
        """Of the root, in such calls but for the last."""
        self._answered: Touched = {}
        """What of these was handed over as evaluation's."""
        self._first: FirstStep | None = None
        """Of the root, where modules were called several times before it, until it is known what belongs to it."""
        self._changed: set[Counter] = set()

    def begins(self, iterator: Any, loader: object = None, place: Place | None = None) -> Scope:  # noqa: ANN401
        """A new pass; persistent workers make every pass with the same iterator."""
        known = self._open.pop(id(iterator), None)
        if known is not None:
            known.ended = True
            self._over.append(known)
            if self.current is known:
                self.current = self.root
        alive = weakref.ref(iterator, lambda _: self.later(self._lost, scope))
        scope = self._open[id(iterator)] = Scope(alive, loader, place)
        scope.drawn = not self._called
        current = self.current
        if current.fetched_since_backward and not current.gone and current is not self.root:
            scope.within = (current, current.turn)
        return scope

    def _lost(self, scope: Scope) -> None:
        scope.gone = True
        if scope is self.current and scope.turn > 1:
            scope.drops_unused()
            self._goes_back(scope, self.root)

    def _goes_back(self, scope: Scope, otherwise: Scope) -> None:
        """To the pass whose batch was still to be used when this one, which is over, began."""
        outer, turn = scope.within or (otherwise, 0)
        if outer.ended or outer.gone or outer.turn != turn or outer is self.root:
            self.current = self.aftermath.follows(scope, otherwise)
        else:
            outer.fetched_since_backward = True
            self.current = outer

    def of(self, iterator: Any) -> Scope:  # noqa: ANN401 -- any object
        """The scope of a loader's iterator."""
        scope = self._open.get(id(iterator))
        if scope is None or scope.ended or scope.alive() is not iterator:
            return self.begins(iterator)
        return scope

    def asked(self, scope: Scope) -> None:
        """A batch of this pass is being made: what happens meanwhile belongs to the turn that it begins."""
        self.aftermath.comes(scope, self.current)
        scope.turn += 1
        scope.asked = True
        self._goes_to(scope)

    def fetched(self, scope: Scope) -> None:
        """A batch of this pass has arrived: a new turn begins, or has begun when it was asked for."""
        self.aftermath.comes(scope, self.current)
        scope.turn += not scope.asked
        scope.asked = False
        scope.batches += 1
        scope.fetched_since_backward = True
        self._goes_to(scope)

    def _goes_to(self, scope: Scope) -> None:
        self._trains_again()
        self.current = scope
        self._first = None

    def exhausted(self, scope: Scope) -> None:
        """The pass has come to its end."""
        scope.ended = True
        scope.asked = False
        self._just_ended = scope
        self._goes_back(scope, self.root)

    def trains(self, *, steps: bool = False) -> None:
        """A backward pass, or (`steps`) an optimizer step: it is fed by the passes whose batches came since the last.
        """
        self._trains_again(trains=True)
        feeds = [s for s in self._open.values() if s.fetched_since_backward and self._goes_on(s)]
        for scope in feeds:
            scope.training = scope.training or scope.fed or scope is self.current
            scope.fed = True
            scope.fetched_since_backward = False
        again = not feeds and not steps and self.current in self._fed and self._goes_on(self.current)
        if feeds:
            self._fed = feeds
        if feeds or again:
            for scope in self._fed:
                self._gradients.come(scope)
        if again:
            return
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
        if ended is not None and ended.gone and not steps:
            self._just_ended = None  # what is stepped on next has been computed here
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
        return self.current in (self.root, self.runs.calls, self.aftermath.scope)

    def saves(self) -> None:
        """A checkpoint is about to be written: an evaluation may be over."""
        if not (self.is_outside() or self.current.training or self.current.asked):
            self.current = self.aftermath.follows(self.current, self.root, ended=False)

    def evaluates(self, key: Key | None, *, opens: bool, graded: bool = False, acts: bool = False) -> None:
        """A call of what is trained, in evaluation mode or (`acts`) not, begins; `graded`: with gradients.

        `opens`: nothing that could be trained has been called since the last step of an optimizer.
        """
        outside = self.is_outside() and self._is_training(self.root)
        if outside and self.runs.call_begins(key, opens=opens, graded=graded):
            self.current = self.runs.calls
            self.runs.acts = self.runs.acts or acts

    def evaluated(self) -> None:
        """It has ended."""
        if self.current is self.runs.calls:
            self.runs.call_ends()

    def calls(self) -> None:
        """A model is called where a loader has been read, and nothing trains yet."""
        self._called, self.current.drawn = True, False

    def _trains_again(self, *, trains: bool = False) -> None:
        if self.current is self.runs.calls:
            self.runs.ends(trains=trains)
            self.current = self.root
        elif trains and self.current is self.aftermath.scope:
            self.current = self.aftermath.trains()

    def answers(self, key: Key | None = None) -> None:
        """A model is called where nothing trains: outside of every pass, that is a turn."""
        if self.current is not self.root:
            return
        self._places.call(key, self.root.touched)
        add(self._answers if self._answering else self._set_up, self.root.touched)
        self.root.touched.clear()
        self.root.turn += 1
        self._answering = True

    def learns(self, optimizer: int) -> None:
        """An optimizer has stepped, be it that this closes a step or not."""
        current = self.current
        if current is self.root:
            current.learnt = True
        self._fed = []
        for scope in self._gradients.stepped_on(optimizer, current):
            scope.learnt = True
            self._learns_from(scope)

    def throws_away(self, parameters: Parameters) -> None:
        """The gradients of these parameters are set to zero, or to None."""
        self._gradients.are_thrown_away(parameters)

    def learns_by_hand(self, scope: Scope) -> None:
        """The script updates the parameters of this pass by itself."""
        self._learns_from(scope)

    def has_learnt_from(self, loader: object) -> bool:
        """Whether passes over this loader that have backward passes are known to be training."""
        return loader in self._learnt

    def _is_training(self, scope: Scope) -> bool:
        """Without any step of an optimizer, backward passes are all there is to go by."""
        known = scope.learnt or scope.loader in self._learnt or scope.place in self._learnt
        return scope.training and (known or not self.steps)

    def _learns_from(self, scope: Scope) -> None:
        """What was handed over as evaluation's while nothing had been learnt there is training after all."""
        for doubtful in self._doubts.resolved(scope, self._learnt):
            self._changed |= doubtful.moves(self.evaluation, self.train)

    def stepped(self, optimizer: int) -> None:
        """An optimizer step has closed."""
        self.learns(optimizer)
        self.steps += 1
        if self.current is self.root:
            self.root.turn += 1
        elif self.current.ended:
            self.current = self.root
        self.runs.closes()
        if self._first is not None:
            self._first_is_known(self._first.closes())

    def withdraws(self) -> dict[Counter, tuple[int, int, int]]:
        """The steps that have closed, all of them outside of every pass, were none; what their evaluation was given."""
        given = self.runs.taken_back()
        if self.is_outside():
            self._fed, self._gradients = [], Gradients(self.owned)
            self.current = self.root = Scope(lambda: True)
        else:
            self.root = Scope(lambda: True)
        self.runs = EvaluationRuns(self.root, Scope(lambda: True))
        self.aftermath = Aftermath(self.root)
        self.steps = 0
        self._first = None
        self._forget_answers()
        for totals in (self.train, self.outside):
            totals.segments.clear()
        return given

    def waiting(self) -> set[Counter]:
        """What has come in passes that are not settled yet."""
        return {counter for scope in (*self._open.values(), *self._over) for counter in scope.touched}

    def _first_is_known(self, changed: set[Counter] | None) -> None:
        if changed is not None:
            self._first = None
            self._changed |= changed

    def settle(self) -> Iterator[Counter]:
        """Hand figures of scopes whose kind is known to the totals; yields the counters that changed."""
        for number, scope in list(self._open.items()):
            if scope.ended or (scope.gone and not self._may_be_used(scope)):
                self._over.append(self._open.pop(number))
            elif self._is_training(scope):
                yield from self.train.take(scope)
            elif scope.gone and not scope.is_only_drawn():
                yield from self._evaluates(scope, doubtful=True)
        over, self._over = self._over, []
        for scope in over:
            if self._is_training(scope):
                yield from self.train.take(scope)
            else:
                yield from self._evaluates(scope, doubtful=scope.training)
            if self.current is scope:
                self.current = self.root
        yield from self._changed
        self._changed.clear()
        if self._answering:
            self._places.goes_on(self.root.touched)
            add(self.root.touched, self._answers)
            self._answers.clear()
            add(self._answered, self.root.touched)
        trains = self._is_training(self.root)
        self.runs.hands_over(trains=trains)
        if not trains and not self._answering and (self.root.fed or not self.steps):
            self.outside.add(self.root)  # it may be the first step's: what was counted waits until that is known
            return
        alone = self.evaluation if self._answering else self.outside
        yield from (self.train if trains else alone).take(self.root, root=True)
        if self._answering and not self.evaluation.batches:
            yield from self._places.counts()
        yield from self.runs.settle(self.steps)

    def _may_be_used(self, scope: Scope) -> bool:
        """The batch of `next(iter(loader))` may have its backward pass yet."""
        return scope is self.current and scope.fetched_since_backward and self._goes_on(scope)

    def _evaluates(self, scope: Scope, *, doubtful: bool) -> Iterator[Counter]:
        """As far as is known."""
        if doubtful:
            self._doubts.of(scope).notes(scope)
        yield from (self.outside if scope.is_only_drawn() else self.evaluation).take(scope)
