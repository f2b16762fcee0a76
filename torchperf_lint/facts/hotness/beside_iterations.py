"""Code beside a loop that goes on and on: what an episode or a search begins with, and what it ends with.

    def run(self, evaluate):                           def attack(self, x, y):
        plan = self.policy.plan(first).cpu()               best, loss = self.loss(start, y)
        while not done:                                    asked = torch.ones(len(x)).to(self.device)
            ...                                            for i in range(self.n_queries):
            reward, done = self.env.step(actions)              new, loss = self.loss(best + noise, y)

Whoever calls such a function in a loop waits for what the loop inside does, a hundred or a thousand times as often.
"""

from __future__ import annotations

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.hotness.loops import Loops
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.patterns import pattern

_UNTIL = pattern(r"^while (?:not\b|True$|.*\bnot \w*(?:done|terminat|end|over|finish))")
_MANY = pattern(
    r" in (?:\w*range|tqdm)\(.*\b(?:(?:n|num|max)_?(?:quer(?:y|ies)|iters?|iterations?)|iterations|n_restarts)\b"
)
"""How often a search turns, by its name; what decodes has lengths, what denoises has steps."""
_JUDGING = frozenset({"eval", "rollout"})


class BesideIterations:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index, loops: Loops) -> None:
        self.index = index
        self.loops = loops
        self._known: dict[FunctionKey, tuple[bool, bool]] = {}

    def holds(self, path: str, index: int, hot: Hot) -> bool:
        """Whether a region of a function that is hot by its callers runs once for many turns of a loop beside it."""
        regions = self.index.outlines[path].regions
        key = FunctionKey(path, regions[index].function)
        while index >= 0 and regions[index].kind != "function":
            if regions[index].kind == "loop":
                return False
            index = regions[index].parent
        if key not in self._known:
            self._known[key] = self._holds(key)
        plays, searches = self._known[key]
        return plays or (searches and hot.kind in _JUDGING)

    def _holds(self, key: FunctionKey) -> tuple[bool, bool]:
        """Whether a function plays an episode, and whether it searches; not where it trains as well."""
        regions = [
            (number, region)
            for number, region in enumerate(self.index.outlines[key.path].regions)
            if region.kind == "loop" and region.function == key.index
        ]
        plays = any(self._plays(key.path, number, region) for number, region in regions)
        searches = any(self._searches(key, number, region) for number, region in regions)
        if not (plays or searches) or self.loops.training.trains(key, 3) is not None:
            return False, False
        return plays, searches

    def _plays(self, path: str, number: int, region: Region) -> bool:
        if not _UNTIL.search(region.detail):
            return False
        return any(ENV_STEP.search(call.callee) for call in self.loops.calls.directly_in(path, number))

    def _searches(self, key: FunctionKey, number: int, region: Region) -> bool:
        """Whether each turn calls again what has been called for the first time above: a method of the same object."""
        few = region.turns is not None and region.turns <= FEW_TURNS
        if few or not _MANY.search(region.detail):
            return False
        again = {c.callee for c in self.loops.calls.directly_in(key.path, number) if c.callee.startswith("self.")}
        first = {c.callee for c in self.index.calls_in(key) if c.line < region.head}
        return bool(again & first)
