"""Answers that depend on each other: each worked out once, whoever asks first, however long the line."""

from __future__ import annotations

import random
import sys
from collections import Counter

import pytest

from torchperf_lint.fixpoint import Fixpoint

Graph = dict[str, list[str]]


class Reached:
    """What each place of a graph reaches, its own name included."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.worked_out: Counter[str] = Counter()
        self.kept: Fixpoint[str, frozenset[str]] = Fixpoint(frozenset())

    def of(self, place: str) -> frozenset[str]:
        return self.kept.answer(place, place, self._reached)

    def _reached(self, place: str) -> frozenset[str]:
        self.worked_out[place] += 1
        return frozenset([place]).union(*(self.of(other) for other in self.graph[place]))


def closure(graph: Graph, start: str) -> frozenset[str]:
    found = [start]
    for place in found:
        found += [other for other in graph[place] if other not in found]
    return frozenset(found)


DIAMOND = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": []}
RING = {"a": ["b"], "b": ["c"], "c": ["a"]}
ITSELF = {"a": ["a", "b"], "b": []}
TWO_RINGS = {"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"]}
GRAPHS = {"a diamond": DIAMOND, "a ring": RING, "itself": ITSELF, "two rings": TWO_RINGS}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_each_answer_holds_all_that_it_depends_on_whoever_asks_first(graph):
    for first in graph:
        reached = Reached(graph)
        reached.of(first)
        assert {place: reached.of(place) for place in graph} == {place: closure(graph, place) for place in graph}


def test_what_depends_on_nothing_open_is_worked_out_once():
    reached = Reached(DIAMOND)
    assert reached.of("a") == frozenset("abcd")
    assert reached.of("c") == frozenset("cd")
    assert set(reached.worked_out.values()) == {1}


def test_a_ring_takes_two_rounds_from_its_first_and_one_to_find_it():
    reached = Reached(RING)
    assert reached.of("b") == frozenset("abc")
    assert reached.of("c") == frozenset("abc")
    assert max(reached.worked_out.values()) == 3


@pytest.mark.parametrize("seed", range(40))
def test_no_answer_depends_on_who_asks_first(seed):
    rng = random.Random(seed)
    places = [f"p{n}" for n in range(rng.randint(3, 14))]
    graph = {place: rng.sample(places, rng.randint(0, min(3, len(places)))) for place in places}
    answers = set()
    for _ in range(5):
        reached = Reached(graph)
        order = rng.sample(places, len(places))
        answers.add(tuple(sorted((place, tuple(sorted(reached.of(place)))) for place in order)))
    assert len(answers) == 1
    (found,) = answers
    assert all(set(held) <= closure(graph, place) and place in held for place, held in found)


def test_a_line_longer_than_the_stack_is_worked_out_from_its_end():
    count = 4 * sys.getrecursionlimit()
    graph = {f"p{n}": [f"p{n + 1}"] for n in range(count)} | {f"p{count}": []}
    depths: Fixpoint[int, int] = Fixpoint(0)

    def depth(n: int) -> int:
        return 1 + (depths.answer(n + 1, n + 1, depth) if graph[f"p{n}"] else 0)

    assert depths.answer(0, 0, depth) == count + 1


def test_a_ring_longer_than_the_stack_ends():
    count = sys.getrecursionlimit()
    ring: Fixpoint[int, frozenset[int]] = Fixpoint(frozenset())

    def held(n: int) -> frozenset[int]:
        return ring.answer((n + 1) % count, (n + 1) % count, held) | ({n} if n % 100 == 0 else frozenset())

    assert ring.answer(0, 0, held) == frozenset(range(0, count, 100))


def test_what_is_alike_but_for_its_reason_settles():
    rounds = []

    def told(_: None) -> tuple[str, int]:
        _kind, reason = kept.answer("x", None, told)
        rounds.append(reason)
        return "tensor", reason + 1

    kept: Fixpoint[None, tuple[str, int]] = Fixpoint(("nothing", 0), lambda one, other: one[0] == other[0])
    assert kept.answer("x", None, told)[0] == "tensor"
    assert rounds == [0, 1]


def test_what_reads_the_same_again_is_not_worked_out_again():
    worked_out = Counter()

    def told(place: str) -> frozenset[str]:
        worked_out[place] += 1
        below = kept.answer(*2 * [{"a": "b", "b": "c", "c": "a"}[place]], told)
        return frozenset("c") if place == "c" else below | {place}

    kept: Fixpoint[str, frozenset[str]] = Fixpoint(frozenset())
    assert kept.answer("b", "b", told) == frozenset("bc")
    assert worked_out == {"a": 2, "b": 1, "c": 3}  # whatever `a` says, `c` says the same


class Forgetful(Fixpoint[str, int]):
    """Takes nothing for said before, so that all is worked out in every round."""

    def _all_say_the_same(self, reads):
        return False


def swinging(graph: Graph, order: list[str], kind: type[Fixpoint[str, int]]) -> tuple[dict[str, int], int]:
    """Answers which no order holds, made of reads that depend on what the ones before said, and how often."""
    kept = kind(0)
    worked_out = []

    def told(place: str) -> int:
        worked_out.append(place)
        said = len(place) + int(place[1:])
        for other in graph[place]:
            below = kept.answer(other, other, told)
            said = (2 * said + below) % 7
            if below % 3 == 2:
                break
        return said

    return {place: kept.answer(place, place, told) for place in order}, len(worked_out)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_known_from_before_changes_no_answer(seed):
    rng = random.Random(seed)
    places = [f"p{n}" for n in range(rng.randint(3, 14))]
    graph = {place: rng.sample(places, rng.randint(0, min(3, len(places)))) for place in places}
    order = rng.sample(places, len(places))
    (answers, few), (again, many) = (swinging(graph, order, kind) for kind in (Fixpoint, Forgetful))
    assert answers == again
    assert few <= many


def test_what_is_known_from_before_spares_a_third_of_the_work_in_a_large_knot():
    rng = random.Random(1)
    places = [f"p{n}" for n in range(300)]
    graph = {place: rng.sample(places, 2) for place in places}
    few, many = (swinging(graph, places[::-1], kind)[1] for kind in (Fixpoint, Forgetful))
    assert few < 2 / 3 * many


def test_what_has_no_key_is_good_for_all_once_what_it_depends_on_has_settled():
    kept: Fixpoint[None, str] = Fixpoint("")
    seen = []

    def inner(_: None) -> str:
        seen.append(kept.of(lambda: kept.answer("outer", None, inner)))
        return "found"

    assert kept.answer("outer", None, inner) == "found"
    assert kept.of(lambda: kept.answer("outer", None, inner)) == ("found", True)
    assert [settled for _, settled in seen] == [False, False]


def test_an_error_leaves_nothing_half_worked_out():
    kept: Fixpoint[bool, str] = Fixpoint("")

    def answer(fails: bool) -> str:
        if fails:
            raise ValueError("no")
        return kept.answer("below", False, lambda _: "below")

    with pytest.raises(ValueError, match="no"):
        kept.answer("above", False, lambda _: answer(False) + kept.answer("wrong", True, answer))
    assert kept.answer("above", False, answer) == "below"
    assert kept.answer("wrong", False, answer) == "below"
