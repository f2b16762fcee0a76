"""Is this line hot, and the reason in words a person can check.

Hot are step loops, eval loops, functions that frameworks call per step (`forward`, `training_step`, ...), and what
these call, across files. Cold are interval guards, handlers, blocks that leave the loop, constructors, and
checkpoint, export and debug code. Everything is decided from outlines, once per project, in sorted order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.nested_spans import NestedSpans
from torchperf_lint.facts.call_graph import named_lambdas
from torchperf_lint.facts.call_graph.default_lambdas import runs_of
from torchperf_lint.facts.call_graph.demonstrations import Demonstrations
from torchperf_lint.facts.call_graph.implementations import Implementations
from torchperf_lint.facts.call_graph.index import Callers, CallSite, FunctionKey, Index
from torchperf_lint.facts.call_graph.namesakes import Namesakes
from torchperf_lint.facts.call_graph.programs import NOTHING_BESIDE, Beside, Programs
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.around import Around
from torchperf_lint.facts.hotness.beside_iterations import BesideIterations
from torchperf_lint.facts.hotness.doing import Doing
from torchperf_lint.facts.hotness.grad_mode import GradMode
from torchperf_lint.facts.hotness.hot import Hot, in_evaluation, through_call, through_loop
from torchperf_lint.facts.hotness.hot_functions import HotFunctions
from torchperf_lint.facts.hotness.loop import Loop
from torchperf_lint.facts.hotness.loops import Loops
from torchperf_lint.facts.hotness.named_calls import NamedCalls
from torchperf_lint.facts.hotness.paths_taken import PathsTaken
from torchperf_lint.facts.hotness.seldom_called import SeldomCalled
from torchperf_lint.facts.hotness.served import Served
from torchperf_lint.facts.hotness.unmentioned import Unmentioned
from torchperf_lint.facts.outlines.records import Position, Region
from torchperf_lint.facts.outlines.signatures import DEFAULT, NAMED
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME
from torchperf_lint.facts.roles.dispatch import Dispatch
from torchperf_lint.model import Confidence


class Reach(NamedTuple):
    """What hotness.py works out from all outlines together."""

    callers: Callers
    functions: Mapping[FunctionKey, Hot]
    left: frozenset[FunctionKey]
    """What the project's programs never reach; see programs.py."""


class Hotness:
    """Which functions and lines of a project are hot."""

    def __init__(
        self,
        index: Index,
        types: Types,
        kept: Callable[[], Reach | None] = lambda: None,
        body: Callable[[str], Body | None] = lambda path: None,
        text: Callable[[str], str] = lambda path: "",
        beside: Beside = NOTHING_BESIDE,
    ) -> None:
        self.index = index
        self.types = types
        self._kept = kept
        self._body = body
        self._of_region: dict[tuple[str, int], Hot | None] = {}
        self._spans: dict[str, NestedSpans] = {}
        self.grad_mode = GradMode(self)
        self.loops = Loops(index, types, self.grad_mode.is_off, body, lambda: self.callers)
        self.beside = BesideIterations(index, self.loops)
        self.around = Around(index, self.loops, lambda: self.callers, body)
        self.namesakes = Namesakes(index, types)
        self.dispatch = Dispatch(index, types)
        self.demonstrations = Demonstrations(types, body)
        self.doing = Doing(index, types, self.loops)
        self.implementations = Implementations(index)
        self.programs = Programs(index, text, beside)
        self.unmentioned = Unmentioned(index, text, self.programs)
        self.named_calls = NamedCalls(index, types, self.calls_often)
        self.seldom = SeldomCalled(
            index, lambda: self.callers, lambda: self.functions, self.around.climb, self.around.loop_now_and_then
        )
        self.served = Served(
            index,
            self.loops.without_grad,
            lambda: self.callers,
            self.around.unguarded,
            self.programs.starts_itself,
        )
        self._anew = HotFunctions(self, body)

    def at(self, path: str, position: Position) -> Hot | None:
        """Why the code at a 1-based (line, column) is hot, or None when it is not known to be."""
        spans = self._spans.get(path) or self._spans_of(path)
        key = (path, spans.innermost(position, 0))
        # Asked of each node that a rule may look at: what is known is looked up here, at once.
        return self._of_region[key] if key in self._of_region else self.of_region(*key)

    def innermost(self, path: str, position: Position) -> int:
        """The index of the smallest region that holds a position."""
        return (self._spans.get(path) or self._spans_of(path)).innermost(position, 0)

    def _spans_of(self, path: str) -> NestedSpans:
        regions = self.index.outlines[path].regions
        spans = self._spans[path] = NestedSpans([(region.start, region.end) for region in regions])
        return spans

    def of_region(self, path: str, index: int) -> Hot | None:
        """Why code directly in a region is hot: its own loops first, then its function's callers."""
        key = (path, index)
        known = self._of_region
        found = known.get(key)
        if found is None and key not in known:
            known[key] = None  # lambdas that call each other end here
            found = known[key] = self._find_hot(path, index)
        return found

    def _find_hot(self, path: str, index: int) -> Hot | None:
        region = self.index.outlines[path].regions[index]
        if region.kind == DEFAULT:
            return next(filter(None, map(self._of_default, runs_of(self.types, path, region))), None)
        if region.kind == NAMED and (named := self._of_named(path, region)) is not None:
            return named
        loop, free = self.around.climb(path, index)
        function = self.index.outlines[path].regions[index].function
        if loop is not None and function == 0 and self.demonstrations.holds(path, region.start[0]):
            return None
        if loop is not None:
            name = self.index.outlines[path].functions[function].name
            found = None if NOT_TRAINING_NAME.search(name) else loop
        else:
            found = self.functions.get(FunctionKey(path, function)) if free and function > 0 else None
        emptied = self.around.emptied.around(path, index) if found is not None else None
        if emptied is not None:
            return self.of_region(*emptied)
        if found is None or self.paths.never(found, path, index, self.calls_often, loop is not None):
            return None
        if self.paths.not_by(found, path, index, self.functions):
            others = self.other_ways(FunctionKey(path, function), index)
            found = min(others, key=lambda hot: hot.depth, default=found)
        around = self.around.kinds(path, index)
        behind = "optional" in around and not self.paths.asked_for(path, index, self.calls_often)
        found = self.weighed(found, FunctionKey(path, function)) if loop is None else self.named_calls.weighed(found)
        if loop is None and found.depth and self.beside.holds(path, index, found):
            found = replace(found, confidence=Confidence.POSSIBLE)
        optional, evaluates = found.optional or behind, found.evaluates or "evaluation" in around
        found = in_evaluation(found) if evaluates else found
        return replace(found, optional=True) if optional else found

    def other_ways(self, key: FunctionKey, index: int) -> Iterator[Hot]:
        """Why a region of a function is hot by those of its callers that get there."""
        for site in self.callers.get(key, ()):
            loop, free = self.around.climb(site.path, site.call.region)
            caller = FunctionKey(site.path, site.call.function)
            around = self.functions.get(caller) if free else None
            if loop is not None:
                other = self._anew.through(loop, site, key)
            elif around is not None and not self.paths.not_by(around, site.path, site.call.region, self.functions):
                other = self._anew.by_call(around, site, key)
            else:
                continue
            if not self.paths.not_by(other, key.path, index, self.functions):
                yield other

    def weighed(self, found: Hot, key: FunctionKey) -> Hot:
        """A reason why a function is hot by its callers, as sure as these are."""
        if found.depth > 1 and self.seldom.is_seldom(key):
            found = replace(found, confidence=Confidence.POSSIBLE)
        return self.named_calls.weighed(found)

    def calls_often(self, site: CallSite, reasons: Mapping[FunctionKey, Hot] | None = None) -> bool:
        """Whether a call runs in a hot loop or a hot function, by the reasons known so far where they are given."""
        loop, free = self.around.climb(site.path, site.call.region)
        hot = self.functions if reasons is None else reasons
        return loop is not None or (free and FunctionKey(site.path, site.call.function) in hot)

    def _of_default(self, site: CallSite) -> Hot | None:
        """Why a lambda is hot that is a parameter's default, by a call of the parameter."""
        hot = self.of_region(site.path, site.call.region)
        if hot is None:
            return None
        because = f"{hot.because}; `{site.call.callee}`, whose default this is, is called at line {site.call.line}"
        return replace(hot, because=because, depth=hot.depth + 1)

    def _of_named(self, path: str, region: Region) -> Hot | None:
        """Why a lambda is hot that has a name, by a call of that: of training, if any is."""
        found: list[Hot] = []
        for site in named_lambdas.runs(self.index, self._body, path, region):
            hot, called = self.of_region(site.path, site.call.region), (site.path, site.call.line)
            if hot is None:
                continue
            caller = self.index.function(FunctionKey(site.path, site.call.function)).qualname
            if hot.depth == 0 and hot.loop is not None:
                passed = through_loop(hot, self.index.outlines[hot.loop[0]].regions[hot.loop[1]].detail, called, path)
            else:
                passed = through_call(hot, caller, called, path)
            found.append(replace(passed, optional=hot.optional, evaluates=hot.evaluates, of=None))
        return min(found, key=lambda hot: (hot.kind != "step", hot.depth), default=None)

    # -- hot functions -----------------------------------------------------------------------------

    @property
    def callers(self) -> Callers:
        """Function -> where the project calls it, in sorted order."""
        return self.kept.callers if self.kept is not None else self._anew.callers

    @property
    def functions(self) -> Mapping[FunctionKey, Hot]:
        """Every hot function with its reason."""
        return self.kept.functions if self.kept is not None else self._anew.functions

    @property
    def callees(self) -> Mapping[FunctionKey, list[tuple[CallSite, FunctionKey]]]:
        """Function -> the calls it makes to functions of the project, and what it runs without a call."""
        return self._anew.callees

    @property
    def left(self) -> frozenset[FunctionKey]:
        """The functions that no program of the project reaches, (path, 0) for the module itself."""
        return self.kept.left if self.kept is not None else self.programs.left

    def is_left(self, path: str, position: Position) -> bool:
        """Whether no program of the project reaches the code at a 1-based (line, column)."""
        if not self.left:
            return False
        function = self.index.outlines[path].regions[self.innermost(path, position)].function
        return FunctionKey(path, function) in self.left or FunctionKey(path, 0) in self.left

    @cached_property
    def paths(self) -> PathsTaken:
        """Which ways through functions are taken."""
        return PathsTaken(self.index, self._body, self.callers)

    def prepare(self) -> None:
        """Work out now what any question about a hot function needs."""
        self.functions, self.left  # noqa: B018 -- kept once asked for

    @cached_property
    def kept(self) -> Reach | None:
        """What an earlier run over the same files worked out, where it was kept."""
        return self._kept()

    @property
    def news(self) -> Reach | None:
        """What this run worked out itself, for the next one; None where it had no need to."""
        known = "functions" in self._anew.__dict__
        return Reach(self._anew.callers, self._anew.functions, self.programs.left) if known else None

    def loop_at(self, path: str, index: int) -> Loop | None:
        """What kind of loop a region is, if it is one that matters."""
        return self.loops.at(path, index)
