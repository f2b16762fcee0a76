"""Generators of the project, and the loops that draw on them.

    for x, y in batches(data, 64):               source = batches(data, 64)
        ...                                      for _ in range(steps):
                                                     x, y = next(source)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.syntax.chains import chain, last_part

Place = tuple[str, int]
"""(path, region)."""


class Generators:
    """Which loops hand something over each turn, and to which loops."""

    def __init__(self, index: Index, types: Types, body: Callable[[str], Body | None] = lambda path: None) -> None:
        self.index = index
        self.types = types
        self._body = body

    @cached_property
    def yielding(self) -> frozenset[Place]:
        """The loops with a `yield` in their body, outside inner functions."""
        return frozenset((path, region) for path, region, _ in self._yields if region >= 0)

    @cached_property
    def drawn(self) -> dict[FunctionKey, list[Place]]:
        """Generator -> the loops over what a call of it gives, or over an object whose `__iter__` it is; and those that
        take the next of what it gives."""
        found: dict[FunctionKey, list[Place]] = {}
        keys = {FunctionKey(path, function) for path, _, function in self._yields}
        by_name: dict[str, list[FunctionKey]] = {}
        for key in sorted(keys):
            by_name.setdefault(self.index.function(key).name, []).append(key)
        for path, outline in self.index.outlines.items() if keys else ():
            for index, region in enumerate(outline.regions):
                if region.kind != "loop" or not region.iterable:
                    continue
                for key in self._behind(path, region.function, region.iterable, by_name):
                    if key in keys and key != FunctionKey(path, region.function):
                        found.setdefault(key, []).append((path, index))
            for key, place in self._taking(path, by_name):
                if key in keys and key != FunctionKey(path, self.index.outlines[place[0]].regions[place[1]].function):
                    found.setdefault(key, []).append(place)
        return found

    def _taking(self, path: str, by_name: dict[str, list[FunctionKey]]) -> Iterator[tuple[FunctionKey, Place]]:
        """The loops that take one element each turn of a generator which their function has called before."""
        outline = self.index.outlines[path]
        taken = [c for c in outline.calls if c.callee == "next" and outline.regions[c.region].kind == "loop"]
        bindings = outline.bindings if taken else ()
        made = [b for b in bindings if b.value.endswith("()") and last_part(b.value) in by_name]
        body = self._body(path) if made and taken else None
        if body is None:
            return
        for call in taken:
            node = body.node_of(call)
            name = chain(node.args[0]) if node is not None and len(node.args) == 1 else ""
            bound = [b for b in outline.bindings if b.target == name and b.function == call.function]
            if len(bound) != 1 or bound[0] not in made:
                continue  # nobody knows of which one it is
            for key in self._behind(path, call.function, bound[0].value, by_name):
                yield from ((key, (path, loop)) for loop in self._loops_around(path, call.region))

    def _loops_around(self, path: str, region: int) -> Iterator[int]:
        """A loop and those around it in the same function, up to the first that stands in a branch."""
        regions = self.index.outlines[path].regions
        while region >= 0 and regions[region].kind == "loop":
            yield region
            region = regions[region].parent

    def _behind(
        self, path: str, function: int, iterable: str, by_name: dict[str, list[FunctionKey]]
    ) -> Iterator[FunctionKey]:
        if not iterable.endswith("()"):
            if "__iter__" in by_name:
                for thing in self.types.things(path, function, iterable):
                    key = self.index.method(thing, "__iter__") if thing.kind == "instance" else None
                    yield from [key] if key is not None else []
            return
        named = by_name.get(last_part(iterable), ())
        if not named:
            return
        targets = self.types.targets(path, function, iterable[:-2])
        # `rollouts.minibatches(n)` of an object that was handed in: the one generator of that name is meant.
        alone = "." in iterable and len(named) == 1 and "_" in last_part(iterable).strip("_")
        yield from targets or (named if alone else ())

    @cached_property
    def _yields(self) -> list[tuple[str, int, int]]:
        """(path, region of the innermost loop around or -1, function) of each `yield`."""
        found = []
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind != "yield":
                    continue
                region = mention.region
                while region >= 0 and outline.regions[region].kind not in ("loop", "function"):
                    region = outline.regions[region].parent
                looped = region >= 0 and outline.regions[region].kind == "loop"
                found.append((path, region if looped else -1, mention.function))
        return found
