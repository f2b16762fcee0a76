"""Whether autograd records what runs at a place: not under no_grad, nor in what only such code calls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.hotness.hotness import Hotness

MAX_CALLERS_UP = 3
"""How many calls up a place is asked whether all its callers switch gradients off."""
_OFF = pattern(r"no_?grad|inference_mode|without_grad|grad_?off|disable_grad", re.IGNORECASE)
_FRAMEWORK_EVALUATION = frozenset(
    "validation_step test_step predict_step prediction_step on_validation_batch_end on_test_batch_end "
    "on_validation_epoch_end on_test_epoch_end on_predict_batch_end".split()
)
"""Methods that frameworks run without gradients."""


class GradMode:
    """Answers for the places of one project; kept by function."""

    def __init__(self, hotness: Hotness) -> None:
        self.hotness = hotness
        self.index: Index = hotness.index
        self._off: dict[tuple[FunctionKey, int], bool] = {}
        self._depending: dict[FunctionKey, bool] = {}

    def records(self, path: str, position: Position) -> bool:
        """Whether gradients are recorded at a place, as far as the project shows; not under a mode that depends."""
        region = self.hotness.innermost(path, position)
        function = self.index.outlines[path].regions[region].function
        return not self._depends(FunctionKey(path, function)) and not self.is_off_at(path, position)

    def is_off_at(self, path: str, position: Position) -> bool:
        """Whether a place is known to run without gradients."""
        return self._region_is_off(path, self.hotness.innermost(path, position), MAX_CALLERS_UP)

    def is_left_to_callers(self, key: FunctionKey) -> bool:
        """Whether some call of a function runs without gradients: switching them off is its callers' part, then."""
        return any(self._region_is_off(s.path, s.call.region, 0) for s in self.hotness.callers.get(key, ()))

    def _depends(self, key: FunctionKey) -> bool:
        """`set_grad_enabled(training)`: whoever needs to be sure has to show a backward pass."""
        if key not in self._depending:
            calls = self.index.calls_in(key)
            self._depending[key] = any(last_part(call.callee) == "set_grad_enabled" for call in calls)
        return self._depending[key]

    def _region_is_off(self, path: str, index: int, hops: int) -> bool:
        regions = self.index.outlines[path].regions
        function = regions[index].function
        while index >= 0 and regions[index].kind != "function":
            if regions[index].kind == "grad-off":
                return True
            index = regions[index].parent
        return self.is_off(FunctionKey(path, function), hops)

    def is_off(self, key: FunctionKey, hops: int = MAX_CALLERS_UP) -> bool:
        """Whether a function never records: by its decorators, by a switch, by its framework, or by all its callers."""
        if (key, hops) not in self._off:
            self._off[key, hops] = False  # functions that call each other
            self._off[key, hops] = self._is_off(key, hops)
        return self._off[key, hops]

    def _is_off(self, key: FunctionKey, hops: int) -> bool:
        function = self.index.function(key)
        if any(_OFF.search(decorator) for decorator in function.decorators):
            return True
        if function.class_index >= 0 and function.name in _FRAMEWORK_EVALUATION:
            return True
        if function.parent > 0 and self.is_off(FunctionKey(key.path, function.parent), hops):
            return True
        sites = self.hotness.callers.get(key, ())
        return bool(sites and hops) and all(self._region_is_off(s.path, s.call.region, hops - 1) for s in sites)
