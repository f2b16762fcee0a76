"""What is around a region inside its function: hot loops, and guards that hold the region back."""

from __future__ import annotations

from collections.abc import Callable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import Callers, Index
from torchperf_lint.facts.hotness.delayed_steps import DelayedSteps
from torchperf_lint.facts.hotness.emptied_again import EmptiedAgain
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.hotness.loops import Loops
from torchperf_lint.facts.outlines.signatures import DEFAULT
from torchperf_lint.patterns import pattern

_RARE = frozenset(
    {"cadence", "debug", "memory", "elsewhere", "lambda", DEFAULT, "once", "except", "raise", "profile", "class"}
)
_OF_EPOCHS = pattern(r"^\(?epochs?\b(?:[^%]*%| in )")
"""`epoch % 5 == 0`, `(epoch + 1) % args.every == 0`, `epoch in self.judged_at`."""


class Around:
    """The regions around another, from the inside out; a region is (path, its index in the outline)."""

    def __init__(
        self, index: Index, loops: Loops, callers: Callable[[], Callers], body: Callable[[str], Body | None]
    ) -> None:
        self.index = index
        self.loops = loops
        self.delayed = DelayedSteps(index, loops.training)
        self.emptied = EmptiedAgain(index, callers, body, self.climb)
        self._reasons: dict[tuple[str, int], Hot | None] = {}

    def climb(self, path: str, index: int) -> tuple[Hot | None, bool]:
        """The innermost hot loop around a region inside its function, and whether no guard holds the region back."""
        regions = self.index.outlines[path].regions
        left_loops = 0
        found: Hot | None = None
        free = True
        evaluates = False
        while index >= 0:
            region = regions[index]
            if region.kind == "loop" and found is not None and not evaluates:
                outer = self.loops.at(path, index)  # a sample of the set may take many turns of a model
                evaluates = found.kind == "rollout" and outer is not None and outer.kind == "eval"
            if region.kind == "cadence" and (evaluates or (found is not None and found.kind == "eval")):
                free = False  # a whole pass over the validation set: every batch of it counts, as in a function
            elif region.kind in _RARE and not self._runs_as_often(path, index):
                return None, False
            if region.kind == "break":
                left_loops = max(left_loops, 1)
            elif region.kind == "return":
                left_loops = len(regions)
            elif region.kind == "loop" and left_loops:
                left_loops -= 1
            elif region.kind == "loop" and found is None:
                found = self.loop(path, index)
            elif region.kind == "function":
                break
            index = region.parent
        return found, free

    def unguarded(self, path: str, index: int) -> bool:
        """Whether no guard inside its function keeps the code in a region from running whenever that does."""
        return self.climb(path, index)[1]

    def turns(self, path: str, index: int) -> bool:
        """Whether a `for` loop or comprehension runs the code in a region again and again, no guard between."""
        regions = self.index.outlines[path].regions
        looped = False
        while index >= 0 and regions[index].kind != "function":
            kind = regions[index].kind
            if kind in _RARE or (not looped and kind in ("break", "return")):
                return False
            looped = looped or kind in ("loop", "comprehension")
            index = regions[index].parent
        return looped

    def held_back_by_epochs(self, path: str, index: int) -> bool:
        """Whether no guard but `epoch % n == 0` keeps the code in a region from running whenever its function does."""
        regions = self.index.outlines[path].regions
        while index >= 0 and regions[index].kind != "function":
            region = regions[index]
            if region.kind in _RARE and not (region.kind == "cadence" and _OF_EPOCHS.search(region.detail)):
                return False
            index = region.parent
        return True

    def kinds(self, path: str, index: int) -> set[str]:
        """The kinds of the regions around one, inside its function."""
        regions = self.index.outlines[path].regions
        kinds = set()
        while index >= 0 and regions[index].kind != "function":
            kinds.add(regions[index].kind)
            index = regions[index].parent
        return kinds

    def runs_without_cuda(self, path: str, index: int) -> bool:
        """Whether a test for the device keeps the code in a region for other devices."""
        return "elsewhere" in self.kinds(path, index)

    def loop_now_and_then(self, path: str, index: int) -> tuple[str, int] | None:
        """The hot loop of the same function that takes a branch around a region now and then."""
        regions = self.index.outlines[path].regions
        rare = False
        while index >= 0 and regions[index].kind != "function":
            rare = rare or regions[index].kind in _RARE
            if rare and regions[index].kind == "loop" and self.loop(path, index) is not None:
                return path, index
            index = regions[index].parent
        return None

    def _runs_as_often(self, path: str, index: int) -> bool:
        """Whether a block that looks rare runs in every step, or every other, all the same."""
        return self.delayed.holds_one(path, index) or self.emptied.filled_in(path, index) is not None

    def loop(self, path: str, index: int) -> Hot | None:
        """Why what a region loops over is hot by that loop alone."""
        key = (path, index)
        if key not in self._reasons:
            self._reasons[key] = self._reason(path, index)
        return self._reasons[key]

    def _reason(self, path: str, index: int) -> Hot | None:
        loop = self.loops.at(path, index)
        if loop is None:
            return None
        region = self.index.outlines[path].regions[index]
        line = loop.line
        when = loop.when
        return Hot(
            loop.kind,
            f"it runs {when}: in the loop `{region.detail}` (line {line}), which {loop.because}",
            f"{when} (`{region.detail}`, line {line})",
            loop.confidence,
            path,
            line,
            0,
            (path, index),
        )
