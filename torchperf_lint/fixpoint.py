"""Answers that depend on each other, each worked out once: a fixed point, begun at the bottom of a lattice.

An answer that depends on itself is first worked out from what it does not depend on: the bottom stands for itself. Then
once more, with what the first round found standing for it. All answers that depend on each other settle together, begun
with the same one of them, whichever is asked for first: no answer depends on who asks.

Each round works out only what reads something that says otherwise than in every round before. What an answer comes to
must depend on nothing but what it reads here.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

Answer = TypeVar("Answer")
Given = TypeVar("Given")
_Said = tuple[Any, Any, Callable[[Any], Any]]
"""What an answer says, and how to ask for it again."""

_ROUNDS = 2
"""Answers that have not settled by then swing between several, each of which says as little."""
_FRAMES = 40
"""Python's calls at most, from the question for one answer to that for another which it depends on."""
_DEEPEST = 500
"""Answers begun for each other before the farthest is worked out first, where the stack is deep."""
_NONE = sys.maxsize


class _Passing(NamedTuple):
    """An answer that holds as long as another is being worked out."""

    answer: Any
    on: object
    """The key of the lowest one on the stack that it depends on; of one that passes itself by now, ask that."""
    given: Any
    compute: Callable[[Any], Any]


class _FarBelowError(Exception):
    """An answer has to be worked out first, from the bottom of the stack."""

    def __init__(self, key: object, given: object, compute: Callable[[Any], Any]) -> None:
        super().__init__()
        self.asked: tuple[Any, Any, Callable[[Any], Any]] = (key, given, compute)


class Fixpoint(Generic[Given, Answer]):
    """Answers by their keys, each computed from something that who asks for it gives.

    `bottom` says nothing yet; `alike` is whether two answers say the same, whatever their reasons. Keys tell themselves
    apart as text, too.
    """

    def __init__(self, bottom: Answer, alike: Callable[[Answer, Answer], bool] = operator.eq) -> None:
        self.settled: dict[object, Answer] = {}
        """Key -> the answer that stays."""
        self._bottom = bottom
        self._alike = alike
        self._open: dict[object, int] = {}
        """Key of what is being worked out -> its place: how many others had been begun and were not done."""
        self._stack: list[object] = []
        """The keys of `_open` by their places."""
        self._passing: dict[object, _Passing] = {}
        self._passed: list[object] = []
        """The keys of `_passing`, in the order in which they came."""
        self._supposed: dict[object, Answer] = {}
        """What a round found, which stands for what is worked out again."""
        self._reads: list[tuple[object, _Said]] = []
        """What has been read, in its order, for all that is being worked out; what had settled stays as it is."""
        self._known: dict[object, list[tuple[dict[object, _Said], Answer]]] = {}
        """Key of what has not settled -> what has been read for it, and what came of that, each time."""
        self._lowest = _NONE
        """The place of the lowest answer that what is being worked out depends on."""
        self._room = 0
        """How many may be begun at once before `_FarBelowError` is raised; 0 where nothing would catch it."""

    def answer(self, key: object, given: Given, compute: Callable[[Given], Answer]) -> Answer:
        """The answer kept under a key, else what `compute` makes of what is given."""
        settled = self.settled.get(key)
        if settled is not None:
            return settled
        place = self._open.get(key)
        if place is not None:
            self._lowest = min(self._lowest, place)
            answer = self._supposed.get(key, self._bottom)
        elif key in self._passing:
            passing = self._passing[key]
            self._lowest = min(self._lowest, self._depends_on(key, passing))
            answer = passing.answer
        elif self._room and len(self._stack) > self._room:
            raise _FarBelowError(key, given, compute)
        else:
            answer = self._worked_out(key, given, compute, catching=not self._room)
            if not self._passed or key in self.settled:
                return answer
        self._reads.append((key, (answer, given, compute)))
        return answer

    def of(self, evaluate: Callable[..., Answer], *given: object) -> tuple[Answer, bool]:
        """What has no key, and whether it is good for whoever asks: whether all that it depends on has settled."""
        before, self._lowest = self._lowest, _NONE
        try:
            found = evaluate(*given)
            return found, self._lowest == _NONE
        finally:
            self._lowest = min(before, self._lowest)

    def _worked_out(self, key: object, given: Given, compute: Callable[[Given], Answer], catching: bool) -> Answer:
        place, first = len(self._stack), len(self._passed)
        answer, lowest = self._round(key, given, compute, catching)
        if lowest == _NONE and len(self._passed) == first:  # most depend on nothing that is open
            self.settled[key] = answer
            return answer
        if lowest < place:
            return self._pass(key, lowest, answer, given, compute)
        leader = min((key, *self._passed[first:]), key=str)
        if leader != key:
            begun = self._passing[leader]
            self._forget(first)
            self._worked_out(leader, begun.given, begun.compute, catching)
            return self.answer(key, given, compute)
        found = self._found(first, key, answer)
        for _ in range(_ROUNDS - 1):
            with self._supposing(found):
                answer, lowest = self._round(key, given, compute, catching)
            if lowest < place:
                return self._pass(key, lowest, answer, given, compute)
            before, found = found, self._found(first, key, answer)
            if all(one in before and self._alike(before[one], now) for one, now in found.items()):
                break
        self.settled.update(found)
        for one in found:
            self._known.pop(one, None)
        return found[key]

    def _round(
        self, key: object, given: Given, compute: Callable[[Given], Answer], catching: bool
    ) -> tuple[Answer, int]:
        """An answer, and the place of the lowest one that it depends on."""
        before, self._lowest = self._lowest, _NONE
        first, read = len(self._passed), len(self._reads)
        self._open[key] = len(self._stack)
        self._stack.append(key)
        try:
            if catching:
                answer = self._from_below(key, given, compute)
            else:
                known = self._known and key in self._known
                answer = self._again(key, given, compute) if known else compute(given)
            if len(self._reads) > read:
                self._known.setdefault(key, []).append((dict(self._reads[read:]), answer))
            return answer, self._lowest
        except BaseException:
            self._forget(first)
            raise
        finally:
            del self._open[key]
            self._stack.pop()
            self._lowest = before
            del self._reads[read:]

    def _again(self, key: object, given: Given, compute: Callable[[Given], Answer]) -> Answer:
        """What has been made before, where all that was read for it says the same; else what is made of what is given.

        To find that out is to read as working it out would, as far as it goes: what depends on what stays the same.
        """
        read = len(self._reads)
        for reads, answer in self._known[key]:
            same = self._all_say_the_same(reads)
            del self._reads[read:]
            if same:
                return answer
        return compute(given)

    def _all_say_the_same(self, reads: dict[object, _Said]) -> bool:
        passing_by_key = self._passing
        for key, (said, given, compute) in reads.items():
            passing = passing_by_key.get(key)
            if passing is None:
                answer = self.answer(key, given, compute)
            else:  # as most are, of what has come back to itself; `answer` would find it too, and note that it was read
                answer = passing.answer
                self._lowest = min(self._lowest, self._depends_on(key, passing))
            if answer is not said and answer != said:
                return False
        return True

    def _from_below(self, key: object, given: Given, compute: Callable[[Given], Answer]) -> Answer:
        """What is worked out from the first answers on, where there are more of them than the stack has room for."""
        room, read = self._room, len(self._reads)
        self._room = len(self._stack) + min(_DEEPEST, sys.getrecursionlimit() // _FRAMES)
        try:
            while True:
                try:
                    return self._again(key, given, compute) if key in self._known else compute(given)
                except _FarBelowError as far:
                    asked = far.asked
                self._lowest = _NONE
                del self._reads[read:]
                self._worked_out(*asked, catching=True)
        finally:
            self._room = room

    def _pass(
        self, key: object, lowest: int, answer: Answer, given: Given, compute: Callable[[Given], Answer]
    ) -> Answer:
        """Keep an answer for as long as the lowest that it depends on is being worked out."""
        self._passing[key] = _Passing(answer, self._stack[lowest], given, compute)
        self._passed.append(key)
        self._lowest = min(self._lowest, lowest)
        return answer

    def _depends_on(self, key: object, passing: _Passing) -> int:
        """The place of the lowest answer on the stack that one depends on which passes."""
        on = passing.on
        while on not in self._open:
            on = self._passing[on].on
        if on != passing.on:
            self._passing[key] = passing._replace(on=on)
        return self._open[on]

    def _found(self, first: int, key: object, answer: Answer) -> dict[object, Answer]:
        """An answer and those that depend on it, which nobody keeps from here on."""
        found = {key: answer, **{other: self._passing[other].answer for other in self._passed[first:]}}
        self._forget(first)
        return found

    def _forget(self, first: int) -> None:
        for other in self._passed[first:]:
            del self._passing[other]
        del self._passed[first:]

    @contextmanager
    def _supposing(self, found: dict[object, Answer]) -> Iterator[None]:
        self._supposed.update(found)
        try:
            yield
        finally:
            for one in found:
                self._supposed.pop(one, None)
