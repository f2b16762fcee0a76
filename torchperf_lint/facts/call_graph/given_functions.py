"""Functions that callers pass for a parameter, or that its default names: `train(..., metric_fn=accuracy)`."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Mention

_FEW = 4
"""Functions passed for one parameter; where there are more, a call through it says little about any."""

Parameter = tuple[FunctionKey, str]


class Passed(NamedTuple):
    """Functions that one mention hands over."""

    path: str
    mention: Mention
    things: tuple[Thing, ...]
    takers: tuple[Parameter, ...]


class GivenFunctions:
    """Parameter -> functions of the project. Works with types of its own, which know of no passed functions: what a
    chain denotes must not depend on who asked first."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def of(self, path: str, function: int, name: str) -> tuple[Thing, ...]:
        """The functions and objects that a parameter may stand for; empty when unknown."""
        found = self._table.get((FunctionKey(path, function), name), ())
        return tuple(found) if len(found) <= _FEW else ()

    @cached_property
    def passed(self) -> tuple[Passed, ...]:
        """Every mention that hands functions or objects to a parameter, as an argument or its default."""
        types = Types(self.index)
        found = []
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind not in ("given", "default"):
                    continue
                named = types.bound_to(path, mention.function, mention.chain)
                things = tuple(thing for thing in named if thing.kind in ("function", "partial", "instance"))
                takers = parameters_for(self.index, types, path, mention) if things else ()
                if takers:
                    found.append(Passed(path, mention, things, tuple(takers)))
        return tuple(found)

    @cached_property
    def _table(self) -> dict[Parameter, dict[Thing, None]]:
        table: dict[Parameter, dict[Thing, None]] = {}
        for passed in self.passed:
            for key in passed.takers:
                table.setdefault(key, {}).update(dict.fromkeys(passed.things))
        return table


def parameters_for(index: Index, types: Types, path: str, mention: Mention) -> list[Parameter]:
    """The parameters that take what a mention hands over."""
    if mention.kind == "default":
        return [(FunctionKey(path, mention.function), mention.of)]
    place, _, callee = mention.of.partition(":")
    found = []
    for key in types.targets(path, mention.function, callee):
        record = index.function(key)
        names = [p.name for p in record.parameters]
        shift = record.bound
        at = int(place) + shift if place.isdigit() else names.index(place) if place in names else len(names)
        if at < len(names) and not (place.isdigit() and record.parameters[at].by_name):
            found.append((key, names[at]))
    return found
