"""Evaluation that reads no loader, between the training steps of a loop that reads none either.

What is trained is called in evaluation mode, or without gradients, between two optimizer steps, once or several times
in a row: that is a run. Runs in at least half of the steps are part of these: an agent acts before it learns. Fewer are
evaluation, or rollouts, whose turns begin where the run's first call is made again. Where calls leave gradients on, a
backward pass may follow that is of them (a script that never goes back to training mode): only if a call in training
mode comes first, it is of another.

From a run's first call to the end of its last, all is evaluation. What stands between it and the steps around it is
settled by what is known of the same line: seen within runs alone it is evaluation's, in steps alone training's; where
both have it, it belongs to the call that follows. Of a single call nothing lies between two calls: what comes both
before and after it leads the call as it leads the step, and what comes after it and nowhere else is the call's, whose
number is read there. The last word comes late: what was said before is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.runtime.touched import Touched, add

if TYPE_CHECKING:
    from torchperf_lint.runtime.counter import Counter
    from torchperf_lint.runtime.scope import Scope
    from torchperf_lint.runtime.sites import Key

_PART_OF_STEPS = 0.5
"""The share of steps with a run from which runs are part of the steps."""


class _Run:
    """Calls in a row, and what stands before and behind them between two steps."""

    __slots__ = ("first", "graded", "head", "inner", "left", "tail", "turns")

    def __init__(self, first: Key | None, head: Touched, *, graded: bool) -> None:
        self.first = first
        self.graded = graded
        """Whether gradients were on."""
        self.left = False
        """Whether a call in training mode has come after it."""
        self.head = head
        self.inner: Touched = {}
        self.tail: Touched = {}
        self.turns = 0

    def parts(self) -> tuple[Touched, Touched, Touched]:
        return self.head, self.inner, self.tail


class _Row(NamedTuple):
    """What runs have of one counter, summed over them."""

    head: int = 0
    inner: int = 0
    tail: int = 0
    steps: int = 0
    """In how many steps it comes in a run, and not in what is left of the step."""
    tail_steps: int = 0
    """The same of what follows a run."""
    turns: int = 0
    """In how many turns of evaluation, if all of it is evaluation's."""
    head_turns: int = 0
    """The same without what follows the run."""
    of: int = 0
    """How many turns the runs have in which it comes."""
    after: int = 0
    """What follows a run of a single call that has nothing of it before."""

    def plus(self, more: _Row) -> _Row:
        return _Row(*map(sum, zip(self, more, strict=True)))


class _Given(NamedTuple):
    """What has been added to a counter's figures."""

    trained: int = 0
    train_turns: int = 0
    evaluated: int = 0
    eval_turns: int = 0
    eval_of: int = 0


class EvaluationRuns:
    """Those of one process."""

    def __init__(self, root: Scope, calls: Scope) -> None:
        """`calls`: the scope that is current from a run's first call to the next step's backward pass."""
        self._root, self.calls = root, calls
        calls.segments = root.segments  # time is told apart by marks of its own
        self._earlier: Touched = {}
        """What the root had in steps that have closed, and has not been handed over."""
        self._handed: Touched = {}
        """What has been handed over as training's since the last step closed."""
        self._run: _Run | None = None
        """The one under way, or that has ended in the step that goes on."""
        self._runs = self._turns = 0
        """Of steps that have closed."""
        self._rows: dict[Counter, _Row] = {}
        self._given: dict[Counter, _Given] = {}
        self._changed: set[Counter] = set()
        self.turns = 0
        """Turns of evaluation."""
        self.acts = False
        """Whether some of the calls were in training mode: those of an agent's policy, without gradients."""

    def call_begins(self, key: Key | None, *, opens: bool, graded: bool = False) -> bool:
        """A call in evaluation mode; False where it is of no run.

        `opens`: no model was called since the last step; `graded`: gradients are on.
        """
        run = self._run
        if run is None or self.calls.ended:
            if not opens or run is not None:
                return False
            run = self._run = _Run(key, self._taken_back(), graded=graded)
            self.calls.ended = False
        elif graded and not run.graded:
            return False  # the next step's, of a model that has stayed in evaluation mode
        add(run.inner, run.tail)
        run.tail.clear()
        self.calls.touched = run.inner
        if key == run.first:
            run.turns += 1
            self.calls.turn += 1
        return True

    def call_ends(self) -> None:
        """What comes now may be the next step's."""
        if self._run is not None:
            self.calls.touched = self._run.tail

    def _taken_back(self) -> Touched:
        """What has come since the last step closed."""
        for counter, (turns, count, steps) in self._handed.items():
            counter.train_turns -= turns
            counter.trained -= count
            counter.train_steps -= steps
        self._changed.update(self._handed)
        head, self._handed = self._handed, {}
        add(head, self._root.touched)
        self._root.touched.clear()
        for counter in head:
            counter.scope = None  # what comes after the run is counted in its own right
        return head

    def come(self) -> set[Counter]:
        """What has come outside of runs since the last step closed, and what may: what follows the run's last call."""
        return {*self._handed, *self._root.touched, *(self._run.tail if self._run is not None else ())}

    def hands_over(self, *, trains: bool) -> None:
        """What the root has is about to be counted, as training's (`trains`) or not."""
        if trains:
            add(self._handed, self._root.touched)
        add(self._root.touched, self._earlier)
        self._earlier.clear()

    def is_left(self) -> None:
        """What is trained is called in training mode."""
        if self._run is not None:
            self._run.left = True

    def ends(self, *, trains: bool) -> None:
        """The next step has begun, with a backward pass (`trains`): which is of the calls where they led to it."""
        run, self.calls.ended = self._run, True
        if run is None or not trains or not run.graded or run.left:
            return
        self._run = None
        for part in run.parts():
            for counter, (_, count, _) in part.items():
                known = self._root.touched.setdefault(counter, [1, 0, 1])
                known[1] += count
                counter.scope, counter.turn = self._root, self._root.turn

    def closes(self) -> None:
        """A step has closed."""
        if self._run is not None:
            self._rows = self._with(self._run)
            self._runs += 1
            self._turns += self._run.turns
            self._run = None
        self._handed.clear()
        add(self._earlier, self._root.touched)
        self._root.touched.clear()

    def taken_back(self) -> dict[Counter, tuple[int, int, int]]:
        """What was said to be evaluation's: how much, in how many turns, of how many."""
        return {counter: (given.evaluated, given.eval_turns, given.eval_of) for counter, given in self._given.items()}

    def settle(self, steps: int) -> set[Counter]:
        """Say anew what of runs is training's and what evaluation's; the counters whose figures changed."""
        rows, runs, turns = self._rows, self._runs, self._turns
        if self._run is not None:
            rows = self._with(self._run)
            runs, turns = runs + 1, turns + self._run.turns
        evaluates = runs < _PART_OF_STEPS * steps
        self.turns = turns if evaluates else 0
        for counter in {*rows, *self._given}:
            self._gives(counter, rows.get(counter, _Row()), evaluates=evaluates)
        changed, self._changed = self._changed, set()
        return changed

    def _gives(self, counter: Counter, row: _Row, *, evaluates: bool) -> None:
        old = self._given.get(counter, _Given())
        new = _split(row, trains=counter.trained > old.trained) if evaluates else _of_steps(row)
        if new == old:
            return
        self._given[counter] = new
        self._changed.add(counter)
        counter.trained += new.trained - old.trained
        counter.train_turns += new.train_turns - old.train_turns
        counter.train_steps += new.train_turns - old.train_turns
        counter.evaluated += new.evaluated - old.evaluated
        counter.eval_turns += new.eval_turns - old.eval_turns
        counter.eval_of += new.eval_of - old.eval_of

    def _with(self, run: _Run) -> dict[Counter, _Row]:
        rows = dict(self._rows)
        for counter in {counter for part in run.parts() for counter in part}:
            rows[counter] = rows.get(counter, _Row()).plus(self._row(counter, run))
        return rows

    def _row(self, counter: Counter, run: _Run) -> _Row:
        head, inner, tail = (part.get(counter, [0, 0, 0]) for part in run.parts())
        alone = counter not in self._root.touched and counter not in self._handed
        if run.turns == 1 and head[1] and tail[1] and not inner[1]:
            head, inner = inner, head
        before = inner[0] + bool(head[1])
        if not head[1] and tail[1] and inner[0] == run.turns - 1 > 0:
            # It follows each call but, so far, the last: as much of what stands behind that is the call's.
            own = min(tail[1], inner[1] // inner[0])
            inner, tail = [run.turns, inner[1] + own, 0], [bool(tail[1] - own), tail[1] - own, 0]
            before = run.turns
        return _Row(
            head=head[1],
            inner=inner[1],
            tail=tail[1],
            steps=int(alone),
            tail_steps=int(alone and tail[1] > 0),
            turns=min(run.turns, before + tail[0]),
            head_turns=min(run.turns, before),
            of=run.turns,
            after=tail[1] if run.turns == 1 and not before else 0,
        )


def _of_steps(row: _Row) -> _Given:
    return _Given(row.head + row.inner + row.tail, row.steps)


def _split(row: _Row, *, trains: bool) -> _Given:
    """`trains`: whether steps have it where no run is about."""
    if not row.inner and (trains or row.head or row.after < row.tail):
        return _of_steps(row)
    if trains:
        return _Given(row.tail, row.tail_steps, row.head + row.inner, row.head_turns, row.of)
    return _Given(0, 0, row.head + row.inner + row.tail, row.turns, row.of)
