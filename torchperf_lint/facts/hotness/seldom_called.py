"""How many of the calls that are seen of a function run every step: one of many callers makes no function hot.

Readers of findings in libraries agreed with most of those that all callers in sight make hot, and with about every
second one where fewer than half do. What a loop calls itself is not asked: in programs its other callers are as often
the program's second half.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.hotness.hot import Hot

_CALLS = 7
"""How many calls back it is asked who calls."""
FEW = 0.5
_MODE_SWITCHES = ("train", "eval")


class SeldomCalled:
    """Weighs the calls of functions."""

    def __init__(
        self,
        index: Index,
        callers: Callable[[], Mapping[FunctionKey, tuple[CallSite, ...]]],
        functions: Callable[[], Mapping[FunctionKey, Hot]],
        climb: Callable[[str, int], tuple[Hot | None, bool]],
        now_and_then: Callable[[str, int], tuple[str, int] | None],
    ) -> None:
        self.index = index
        self.callers = callers
        self.functions = functions
        self.climb = climb
        self.now_and_then = now_and_then
        self._shares: dict[tuple[FunctionKey, int], float] = {}

    def is_seldom(self, key: FunctionKey) -> bool:
        """Whether fewer than half of the calls of a function are known to run every step.

        Left out are those of tests, what the loop that makes it hot does now and then besides, as to validate, and
        what a module does when it is switched to training or evaluation, as to merge an adapter's weights.
        """
        return 0 < self.share(key, _CALLS) < FEW

    def share(self, key: FunctionKey, calls: int) -> float:
        """From 0 to 1: how many of the calls of a function are hot, those of its callers weighed like this."""
        own = self.functions().get(key)
        if own is not None and own.depth == 0:
            return 1.0
        if not calls:
            return 0.0
        if (key, calls) not in self._shares:
            found = [self._of_call(site, calls) for site in self.callers().get(key, ()) if self._counts(site, key)]
            self._shares[key, calls] = sum(found) / len(found) if found else 0.0
        return self._shares[key, calls]

    def _counts(self, site: CallSite, key: FunctionKey) -> bool:
        if FunctionKey(site.path, site.call.function) == key or Demonstrations.tests(site.path, key.path):
            return False
        if self._switches_modes(FunctionKey(site.path, site.call.function)):
            return False
        own, loop = self.functions().get(key), self.now_and_then(site.path, site.call.region)
        return own is None or loop is None or own.loop != loop

    def _switches_modes(self, key: FunctionKey) -> bool:
        """Whether a function is the `train` or `eval` of a module that has a `forward` of its own as well."""
        record = self.index.function(key)
        if record.class_index < 0 or record.name not in _MODE_SWITCHES:
            return False
        if [parameter.name for parameter in record.parameters[1:]] not in ([], ["mode"]):
            return False
        return "forward" in self.index.record(Thing("class", key.path, record.class_index)).methods

    def _of_call(self, site: CallSite, calls: int) -> float:
        loop, free = self.climb(site.path, site.call.region)
        if loop is not None or not free:
            return float(loop is not None)
        return self.share(FunctionKey(site.path, site.call.function), calls - 1)
