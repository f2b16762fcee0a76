"""The cumulative figures of one event. Torch-free."""

from __future__ import annotations

from torchperf_lint.events import Record
from torchperf_lint.runtime.scope import Scope


class Counter:
    """What happened at one site, in one way."""

    __slots__ = (
        "before",
        "closed_by",
        "dirty",
        "eval_of",
        "eval_turns",
        "evaluated",
        "first",
        "id",
        "last",
        "ms",
        "n",
        "nbytes",
        "row",
        "scope",
        "since",
        "size",
        "steady",
        "steady_ms",
        "train_steps",
        "train_turns",
        "trained",
        "turn",
    )

    def __init__(self, number: int) -> None:
        self.id = number
        self.n = self.steady = self.train_turns = self.eval_turns = self.nbytes = 0
        self.train_steps = self.eval_of = 0
        """In how many optimizer steps it came, and how many batches the evaluation passes have in which it did."""
        self.trained = self.evaluated = self.before = 0
        """How much of `n` came in training, in evaluation, and in calls of a model before anything trained."""
        self.closed_by: dict[int, int] = {}
        """In how many of the steps that each optimizer closed it came (loops_of_optimizers.py)."""
        self.ms: float | None = None
        self.steady_ms: float | None = None
        self.scope: Scope | None = None
        self.turn = -1
        self.row = self.since = self.size = 0
        """In how many turns of `scope` in a row it came, how large `n` was before the last, how much came before that.
        """
        self.first = self.last = 0
        """In which optimizer steps it came first and last, counted from 1."""
        self.dirty = False

    def begins(self, scope: Scope) -> None:
        """It comes for the first time in a turn of this scope."""
        follows = self.scope is scope and self.turn == scope.turn - 1
        self.row = self.row + 1 if follows else 1
        self.size, self.since = self.n - 1 - self.since, self.n - 1
        self.scope, self.turn = scope, scope.turn

    def withdraws(self, evaluated: int, eval_turns: int, eval_of: int, *, step: int) -> None:
        """The steps so far were none, nor was what lay between them evaluation; `step`: which one it comes in now."""
        self.trained = self.train_turns = self.train_steps = self.steady = 0
        self.steady_ms = None
        self.closed_by.clear()
        self.evaluated -= evaluated
        self.eval_turns -= eval_turns
        self.eval_of -= eval_of
        self.first = self.last = step

    def record(self) -> Record:
        """The cumulative figures as the events file has them: what is 0, or was not measured, is left out."""
        figures = {
            "n": self.n,
            "steady": self.steady,
            "train_turns": self.train_turns,
            "eval_turns": self.eval_turns,
            "train_steps": self.train_steps,
            "eval_of": self.eval_of,
            "trained": self.trained,
            "evaluated": self.evaluated,
            "before": self.before,
            "ms": _rounded(self.ms),
            "steady_ms": _rounded(self.steady_ms),
            "bytes": self.nbytes,
            "first": self.first,
            "last": self.last,
        }
        kept = {name: value for name, value in figures.items() if value is not None and (value or "ms" in name)}
        return {"record": "count", "id": self.id, **kept}


def _rounded(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 3)
