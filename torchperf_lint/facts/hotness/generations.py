"""Loops over the generations of an evolutionary search whose population is tensors: each turn selects, crosses, judges.

for generation in range(max_generation):
    children = self.mutate(self.cross(population, self.select(population, fitness)))
    fitness = evaluator(children)

A generation that trains its individuals, or plays episodes with them, has the hot loop within it, and is none itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loop import EVERY_GENERATION, Loop
from torchperf_lint.facts.roles.cold import is_cold
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_GENERATIONS = pattern(
    r"^for _?(?:(?:i|cur|current)_?)?gen(?:eration)?(?:_?(?:i|idx|index|num|number|count))? in .*\b(?:t?range|count)\("
)
_OF_TOKENS = pattern(r"token|_len(?:gth)?\b|prompt|sampl", re.IGNORECASE)
"""Generations of texts and samples, which no population goes through."""
_COMPUTES = pattern(
    r"^(?:torch|(?:torch\.)?nn\.functional)\.(?!tensor$|as_tensor$|from_numpy$|no_grad$|manual_seed$|load$|save$|"
    r"device$|cuda\.|distributed\.)[\w.]+$"
)
_WHOLE = pattern(r"(?:^|[._])(?:fit|train|learn|optimize|rollout|episodes?|simulate|play|backward)(?:_\w+)?$")
"""Calls that train or play as a whole: such generations are few, and slow for other reasons."""
_LEAST = 2
"""Calls of torch's functions that a generation makes, at least."""
_STEPS = 2
"""How many functions a turn is looked through."""


class Generations:
    """Answers for one project."""

    def __init__(
        self, index: Index, types: Types, calls: DirectCalls, by_itself: Callable[[str, int], Loop | None]
    ) -> None:
        self.index = index
        self.types = types
        self.calls = calls
        self._by_itself = by_itself

    def at(self, path: str, index: int) -> Loop | None:
        """Why a loop goes through the generations of a population of tensors, if it does."""
        outline, region = self.index.outlines[path], self.index.outlines[path].regions[index]
        if not _GENERATIONS.search(region.detail) or _OF_TOKENS.search(region.detail):
            return None
        if not outline.imports_from("torch") or is_cold(self.index, FunctionKey(path, region.function)):
            return None
        parts = list(self._parts(path, index))
        called = [(where, call) for where, part in parts for call in self.calls.all_in(where, part)]
        if any(_WHOLE.search(call.callee) for _, call in called) or any(self._holds_hot_loops(*p) for p in parts):
            return None
        computed = [(where, call) for where, call in called if _COMPUTES.search(call.callee)]
        if len(computed) < _LEAST:
            return None
        where, call = computed[0]
        place = f"line {call.line}" if where == path else f"{where}:{call.line}"
        because = f"goes through the generations of a population of tensors: `{call.callee}()` ({place})"
        return Loop("rollout", because, Confidence.LIKELY, region.head, EVERY_GENERATION)

    def _parts(self, path: str, index: int) -> Iterator[tuple[str, int]]:
        """The regions that a turn runs: the loop, and the functions of the project that it goes through."""
        found: list[tuple[str, int]] = [(path, index)]
        seen: set[FunctionKey] = set()
        for _ in range(_STEPS + 1):
            yield from found
            calls = [(where, call) for where, part in found for call in self.calls.all_in(where, part)]
            keys = (key for where, c in calls for key in self.types.targets(where, c.function, c.callee))
            new = [key for key in dict.fromkeys(keys) if key not in seen]
            seen.update(new)
            found = [(key.path, self.index.function(key).region) for key in new]

    def _holds_hot_loops(self, path: str, index: int) -> bool:
        """Whether a generation trains, or runs a model over batches, in a loop of its own."""
        regions, within = self.index.outlines[path].regions, {index}
        for number in range(index + 1, len(regions)):
            if regions[number].parent not in within or regions[number].kind in ("function", "class"):
                continue
            within.add(number)
            if regions[number].kind == "loop" and self._by_itself(path, number) is not None:
                return True
        return False
