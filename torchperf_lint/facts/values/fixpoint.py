"""Values that depend on each other, each worked out once: a fixed point, begun at the bottom of the lattice.

A value that depends on itself is first worked out from what it does not depend on: `NOTHING` stands for itself. Then
once more, with what the first round found standing for it, unless that changes nothing. All values that depend on each
other settle together, begun with the same one of them, whichever is asked for first: answers do not depend on who asks.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from torchperf_lint.facts.values.value import NOTHING, Frame, Value

Compute = Callable[[Frame], Value]

_WITHIN = 3
"""Hops that a value counts from which is worked out for another: what is not kept by a key is not followed far."""
_ROUNDS = 2
"""Values that do not settle by then are told apart by nothing else; they swing between two that know as little."""
_FRAMES = 40
"""Python's calls that one value takes at most, between its question and that for the value it depends on."""
_DEEPEST = 500
"""Values worked out for each other before what is farther is worked out first, on a stack that is deep."""
_NONE = sys.maxsize


class _Passing(NamedTuple):
    """A value found while another, which it depends on, is still being worked out."""

    value: Value
    lowest: int
    """The place of the lowest value on the stack that it depends on."""
    frame: Frame
    compute: Compute


class _FarBelowError(Exception):
    """A value has to be worked out first, from the bottom of the stack."""

    def __init__(self, key: object, frame: Frame, compute: Compute) -> None:
        super().__init__()
        self.key = key
        self.frame = frame
        self.compute = compute


class Fixpoint:
    """The values of one project by their keys."""

    def __init__(self) -> None:
        self._settled: dict[object, Value] = {}
        self._open: dict[object, int] = {}
        """Key of what is being worked out -> its place: how many others were begun before it and are not done."""
        self._passing: dict[object, _Passing] = {}
        self._passed: list[object] = []
        """The keys of `_passing`, in their order."""
        self._assumed: dict[object, Value] = {}
        """What the round before found for a value, and stands for it while it is worked out again."""
        self._lowest = _NONE
        """The place of the lowest value that what is being worked out depends on."""
        self._bottom = 0
        self._catching = False
        """Whether something below on the stack catches `_FarBelowError`."""

    def value(self, key: object, frame: Frame, compute: Compute) -> Value:
        """The value kept under `key`; `compute` works it out at the place of a frame that it is given."""
        settled = self._settled.get(key)
        if settled is not None:
            return settled
        place = self._open.get(key)
        if place is not None:
            self._lowest = min(self._lowest, place)
            return self._assumed.get(key, NOTHING)
        passing = self._passing.get(key)
        if passing is not None:
            self._lowest = min(self._lowest, passing.lowest)
            return passing.value
        if self._catching and len(self._open) - self._bottom > min(_DEEPEST, sys.getrecursionlimit() // _FRAMES):
            raise _FarBelowError(key, frame, compute)
        return self._worked_out(key, frame, compute, not self._catching)

    def asked(self, evaluate: Callable[[], Value]) -> tuple[Value, bool]:
        """A value that is kept elsewhere, and whether it may be: whether all that it depends on has settled."""
        before, self._lowest = self._lowest, _NONE
        try:
            value = evaluate()
            return value, self._lowest == _NONE
        finally:
            self._lowest = min(before, self._lowest)

    def _worked_out(self, key: object, frame: Frame, compute: Compute, bottom: bool) -> Value:
        place, first = len(self._open), len(self._passed)
        frame = Frame(frame.path, frame.function, frame.at, 0, _WITHIN)
        value, lowest = self._round(key, frame, compute, bottom)
        if lowest < place:
            return self._pass(key, _Passing(value, lowest, frame, compute))
        others = self._passed[first:]
        if lowest == _NONE and not others:
            self._settled[key] = value
            return value
        leader = min((key, *others), key=str)
        if leader != key:
            again = self._passing[leader]
            self._forget(first)
            self._worked_out(leader, again.frame, again.compute, bottom)
            return self.value(key, frame, compute)
        found = {key: value, **{other: self._passing[other].value for other in others}}
        for _ in range(_ROUNDS - 1):
            self._forget(first)
            with self._supposing(found):
                value, lowest = self._round(key, frame, compute, bottom)
            if lowest < place:
                return self._pass(key, _Passing(value, lowest, frame, compute))
            before, found = found, {key: value, **{one: self._passing[one].value for one in self._passed[first:]}}
            if all(_is_alike(before.get(one), value) for one, value in found.items()):
                break
        self._forget(first)
        self._settled.update(found)
        return found[key]

    def _pass(self, key: object, passing: _Passing) -> Value:
        """Keep a value for as long as what it depends on is being worked out."""
        self._passing[key] = passing
        self._passed.append(key)
        self._lowest = min(self._lowest, passing.lowest)
        return passing.value

    @contextmanager
    def _supposing(self, found: dict[object, Value]) -> Iterator[None]:
        """What a round found stands for values while they are worked out in the next."""
        self._assumed.update(found)
        try:
            yield
        finally:
            for one in found:
                self._assumed.pop(one, None)

    def _forget(self, first: int) -> None:
        """What was found of values that depend on one that is about to be worked out again."""
        for other in self._passed[first:]:
            del self._passing[other]
        del self._passed[first:]

    def _round(self, key: object, frame: Frame, compute: Compute, bottom: bool) -> tuple[Value, int]:
        """What a value is found to be, and the place of the lowest value that it depends on."""
        before, self._lowest = self._lowest, _NONE
        first = len(self._passed)
        self._open[key] = len(self._open)
        try:
            value = self._from_below(frame, compute) if bottom else compute(frame)
            return value, self._lowest
        except BaseException:
            self._forget(first)
            raise
        finally:
            del self._open[key]
            self._lowest = before

    def _from_below(self, frame: Frame, compute: Compute) -> Value:
        """What is worked out from the first values on, where there are more of them than the stack has room for."""
        bottom, catching = self._bottom, self._catching
        self._bottom, self._catching = len(self._open), True
        try:
            while True:
                try:
                    return compute(frame)
                except _FarBelowError as far:
                    first = far
                self._lowest = _NONE
                self._worked_out(first.key, first.frame, first.compute, True)
        finally:
            self._bottom, self._catching = bottom, catching


def _is_alike(one: Value | None, other: Value | None) -> bool:
    """Whether two values say the same, whatever their reasons."""
    if one is other or one is None or other is None:
        return one is other
    plain = (one.kind, one.device, one.confidence, one.thing, one.borrowed, one.levels)
    if plain != (other.kind, other.device, other.confidence, other.thing, other.borrowed, other.levels):
        return False
    if [key for key, _ in one.entries] != [key for key, _ in other.entries] or len(one.items) != len(other.items):
        return False
    parts = [(one.item, other.item), *zip(one.items, other.items, strict=True)]
    parts += [(mine, theirs) for (_, mine), (_, theirs) in zip(one.entries, other.entries, strict=True)]
    return all(_is_alike(mine, theirs) for mine, theirs in parts)
