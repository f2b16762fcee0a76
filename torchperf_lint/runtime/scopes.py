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
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.aftermath import Aftermath
from torchperf_lint.runtime.ahead import Ahead
from torchperf_lint.runtime.answers import Answers
from torchperf_lint.runtime.doubtful import Doubts
from torchperf_lint.runtime.evaluation_runs import EvaluationRuns
from torchperf_lint.runtime.gradients import Gradients, Parameters
from torchperf_lint.runtime.joined_steps import JoinedSteps
from torchperf_lint.runtime.loops_of_optimizers import LoopsOfOptimizers
from torchperf_lint.runtime.scope import EVALUATION, TRAINING, Place, Scope, Totals

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.first_step import FirstStep
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
        self.ahead = Ahead()
        self._joined = JoinedSteps()
        self.loops = LoopsOfOptimizers()
        self._first: FirstStep | None = None
        """Of the root, where modules were called several times before it, until it is known what belongs to it."""
        self._changed: set[Counter] = set()
        self._answers = Answers(self._changed)

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
        if scope is self.current and scope.turn > 1 and not self.ahead.is_of(scope):
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
        scope.total += 1
        scope.fetched_since_backward = True
        self._goes_to(scope)

    def _goes_to(self, scope: Scope) -> None:
        self._trains_again()
        self.current = scope
        self._first = None
        self.ahead.is_over()

    def exhausted(self, scope: Scope) -> None:
        """The pass has come to its end."""
        scope.ended = True
        scope.turn += not scope.asked  # of a loader that looks ahead, this begins a turn, too
        scope.asked = False
        self._just_ended = scope
        self.ahead.ends(scope)
        self._goes_back(scope, self.root)

    def of_event(self, counter: Counter) -> Scope:
        """Where what is counted now belongs, when a pass has come to its end."""
        tail = self.ahead.tail
        if tail is None or tail is self.current or not self.ahead.has(counter):
            return self.current
        self._comes_after(tail)
        return tail

    def _comes_after(self, ended: Scope) -> None:
        """Something more is counted in a pass that is over."""
        if ended not in self._over and ended not in self._open.values():
            self._over.append(ended)

    def trains(self, *, steps: bool = False) -> None:
        """A backward pass, or (`steps`) an optimizer step: it is fed by the passes whose batches came since the last.
        """
        self._trains_again(trains=True)
        feeds = [s for s in self._open.values() if s.fetched_since_backward and self._goes_on(s)]
        for scope in feeds:
            scope.training = scope.training or scope.fed or scope is self.current
            scope.fed = True
            scope.fetched_since_backward = False
            scope.first_fed = scope.first_fed or scope.turn
            scope.fed_turns += 1
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
        elif self._answers.come:
            self._answers.were_before(self.root)

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
        if self.current.gone and not self.ahead.is_of(self.current):
            self.current = self.root
        if self.current is not self.root:
            return
        ended = self._just_ended
        gone = ended is not None and ended.gone and not steps and not self.ahead.owes(ended)
        if gone:
            self._just_ended = None  # what is stepped on next has been computed here
        if ended is None or not ended.training or gone:
            self.ahead.is_over()
            if not self.root.fed:
                self._first = self._answers.lead_to(self.root)
            self.root.training = self.root.training or self.root.fed
            self.root.fed = True
            return
        self._just_ended = ended if self.ahead.leads(ended) else None
        self.root.fed = False
        self.current = ended
        self._comes_after(ended)

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
        if self.current is self.root:
            self._answers.begins(self.root, key)

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

    @property
    def feeds(self) -> Scope | None:
        """The pass over a loader that is under way."""
        return None if self.is_outside() else self.current

    def joins(self, optimizer: int) -> None:
        """An optimizer has stepped, which closes no step."""
        self.learns(optimizer)
        self._joined.joins(optimizer, self.runs.come())

    def were_steps(self, joined: Sequence[int]) -> int:
        """The optimizer's steps at these positions, of those since a step closed, were steps; how many these are."""
        if joined:
            self.steps += len(joined)
            self._joined.were(joined, self.runs.come(), self.root.touched, self.steps + 1, self.loops)
            self.root.turn += len(joined)
        return len(joined)

    def stepped(self, optimizer: int) -> None:
        """An optimizer step has closed."""
        self.learns(optimizer)
        self._joined.forget()
        self.loops.closes(optimizer)
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
        self.loops = LoopsOfOptimizers()
        self._joined.forget()
        self._first = None
        self._answers.forget()
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
            if self.current is scope and not self.ahead.is_of(scope):
                self.current = self.root
        yield from self._changed
        self._changed.clear()
        if self._answers.come:
            self._answers.gives(self.root)
        trains = self._is_training(self.root)
        self.runs.hands_over(trains=trains)
        if not trains and not self._answers.come and (self.root.fed or not self.steps):
            self.outside.add(self.root)  # it may be the first step's: what was counted waits until that is known
            return
        alone = self.evaluation if self._answers.come else self.outside
        yield from (self.train if trains else alone).take(self.root, root=True)
        if self._answers.come and not self.evaluation.batches:
            yield from self._answers.places.counts()
        yield from self.runs.settle(self.steps)

    def _may_be_used(self, scope: Scope) -> bool:
        """The batch of `next(iter(loader))` may have its backward pass yet."""
        return scope is self.current and scope.fetched_since_backward and self._goes_on(scope)

    def _evaluates(self, scope: Scope, *, doubtful: bool) -> Iterator[Counter]:
        """As far as is known."""
        if doubtful:
            self._doubts.of(scope).notes(scope)
        yield from (self.outside if scope.is_only_drawn() else self.evaluation).take(scope)
