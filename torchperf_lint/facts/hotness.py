"""Is this line hot, and the reason in words a person can check.

Hot are step loops, eval loops, functions that frameworks call per step (`forward`, `training_step`, ...), and what
these call, across files. Cold are interval guards, handlers, blocks that leave the loop, constructors, and
checkpoint, export and debug code. Everything is decided from outlines, once per project, in sorted order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

from torchperf_lint.facts import named_lambdas
from torchperf_lint.facts.beginnings import makes_beginnings
from torchperf_lint.facts.bodies import Body
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.cold import MEASURES_MODULES, NOT_TRAINING_NAME, evaluates_all, is_cold
from torchperf_lint.facts.default_lambdas import runs_of
from torchperf_lint.facts.delayed_steps import DelayedSteps
from torchperf_lint.facts.demonstrations import Demonstrations
from torchperf_lint.facts.dispatch import Dispatch
from torchperf_lint.facts.doing import Doing
from torchperf_lint.facts.emptied_again import EmptiedAgain
from torchperf_lint.facts.grad_mode import GradMode
from torchperf_lint.facts.host_kernels import host_kernels
from torchperf_lint.facts.hot import Hot, Story, in_evaluation, is_offered, of_role, through_call, through_loop, told
from torchperf_lint.facts.implementations import Implementations
from torchperf_lint.facts.index import CallSite, FunctionKey, Index
from torchperf_lint.facts.loop import Loop
from torchperf_lint.facts.loops import Loops
from torchperf_lint.facts.named_calls import NamedCalls
from torchperf_lint.facts.namesakes import Namesakes
from torchperf_lint.facts.nested_spans import NestedSpans
from torchperf_lint.facts.overridden_callers import runs_for
from torchperf_lint.facts.paths_taken import PathsTaken
from torchperf_lint.facts.programs import NOTHING_BESIDE, Beside, Programs
from torchperf_lint.facts.receivers import excludes, receiver
from torchperf_lint.facts.records import Position
from torchperf_lint.facts.roles import is_evaluation_pass, judges, role_of
from torchperf_lint.facts.seldom_called import SeldomCalled
from torchperf_lint.facts.signatures import DEFAULT, NAMED
from torchperf_lint.facts.spreading import Spreading, Ways
from torchperf_lint.facts.types import Types
from torchperf_lint.facts.unmentioned import Unmentioned
from torchperf_lint.model import Confidence

MAX_CALL_DEPTH = 8
"""How far hotness follows calls; a longer chain of callers convinces nobody."""
MANY_CALLS = 6
"""From so many calls on a loop is too far away to be why a line runs: readers agreed with no such reason."""

_RARE = frozenset(
    {"cadence", "debug", "memory", "elsewhere", "lambda", DEFAULT, "once", "except", "raise", "profile", "class"}
)
Callers = Mapping[FunctionKey, tuple[CallSite, ...]]


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
        self.loops = Loops(index, types, self.grad_mode.is_off, body)
        self.namesakes = Namesakes(index, types)
        self.dispatch = Dispatch(index, types)
        self.demonstrations = Demonstrations(types, body)
        self.doing = Doing(index, types, self.loops)
        self.delayed = DelayedSteps(index)
        self.emptied = EmptiedAgain(index, lambda: self.callers, body, self._climb)
        self.implementations = Implementations(index)
        self.programs = Programs(index, text, beside)
        self.unmentioned = Unmentioned(index, text, self.programs)
        self.named_calls = NamedCalls(index, types, self._calls_often)
        self.seldom = SeldomCalled(lambda: self.callers, lambda: self.functions, self._climb, self._loop_now_and_then)

    def at(self, path: str, position: Position) -> Hot | None:
        """Why the code at a 1-based (line, column) is hot, or None when it is not known to be."""
        region = self.innermost(path, position)
        return self.of_region(path, region)

    def innermost(self, path: str, position: Position) -> int:
        """The index of the smallest region that holds a position."""
        if path not in self._spans:
            self._spans[path] = NestedSpans(
                [(region.start, region.end) for region in self.index.outlines[path].regions]
            )
        return next(iter(self._spans[path].inside_out(position)), 0)

    def of_region(self, path: str, index: int) -> Hot | None:
        """Why code directly in a region is hot: its own loops first, then its function's callers."""
        key = (path, index)
        if key not in self._of_region:
            self._of_region[key] = None  # lambdas that call each other end here
            self._of_region[key] = self._find_hot(path, index)
        return self._of_region[key]

    def _find_hot(self, path: str, index: int) -> Hot | None:
        region = self.index.outlines[path].regions[index]
        if region.kind == DEFAULT:
            return next(filter(None, map(self._of_default, runs_of(self.types, path, region))), None)
        if region.kind == NAMED and (named := self._of_named(path, region.detail)) is not None:
            return named
        loop, free = self._climb(path, index)
        function = self.index.outlines[path].regions[index].function
        if loop is not None and function == 0 and self.demonstrations.holds(path, region.start[0]):
            return None
        if loop is not None:
            name = self.index.outlines[path].functions[function].name
            found = None if NOT_TRAINING_NAME.search(name) else loop
        else:
            found = self.functions.get(FunctionKey(path, function)) if free and function > 0 else None
        emptied = self.emptied.around(path, index) if found is not None else None
        if emptied is not None:
            return self.of_region(*emptied)
        if found is None or self.paths.never(found, path, index, self._calls_often, loop is not None):
            return None
        if self.paths.not_by(found, path, index, self.functions):
            others = self._other_ways(FunctionKey(path, function), index)
            found = min(others, key=lambda hot: hot.depth, default=found)
        around = self._kinds_around(path, index)
        behind = "optional" in around and not self.paths.asked_for(path, index, self._calls_often)
        if loop is None and found.depth > 1 and self.seldom.is_seldom(FunctionKey(path, function)):
            found = replace(found, confidence=Confidence.POSSIBLE)
        found = self.named_calls.weighed(found)
        optional, evaluates = found.optional or behind, found.evaluates or "evaluation" in around
        found = in_evaluation(found) if evaluates else found
        return replace(found, optional=True) if optional else found

    def _other_ways(self, key: FunctionKey, index: int) -> Iterator[Hot]:
        """Why a region of a function is hot by those of its callers that get there."""
        for site in self.callers.get(key, ()):
            loop, free = self._climb(site.path, site.call.region)
            caller = FunctionKey(site.path, site.call.function)
            around = self.functions.get(caller) if free else None
            if loop is not None:
                other = self._through(loop, site, key)
            elif around is not None and not self.paths.not_by(around, site.path, site.call.region, self.functions):
                other = self._by_call(around, site, key)
            else:
                continue
            if not self.paths.not_by(other, key.path, index, self.functions):
                yield other

    def _calls_often(self, site: CallSite, reasons: Mapping[FunctionKey, Hot] | None = None) -> bool:
        loop, free = self._climb(site.path, site.call.region)
        hot = self.functions if reasons is None else reasons
        return loop is not None or (free and FunctionKey(site.path, site.call.function) in hot)

    def _of_default(self, site: CallSite) -> Hot | None:
        """Why a lambda is hot that is a parameter's default, by a call of the parameter."""
        hot = self.of_region(site.path, site.call.region)
        if hot is None:
            return None
        because = f"{hot.because}; `{site.call.callee}`, whose default this is, is called at line {site.call.line}"
        return replace(hot, because=because, depth=hot.depth + 1)

    def _of_named(self, path: str, name: str) -> Hot | None:
        """Why a lambda is hot that the top of a module gives a name, by a call of that: of training, if any is."""
        found: list[Hot] = []
        for site in named_lambdas.runs_of(self.index, self._body, path, name):
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

    def _kinds_around(self, path: str, index: int) -> set[str]:
        """The kinds of the regions around one, inside its function."""
        regions = self.index.outlines[path].regions
        kinds = set()
        while index >= 0 and regions[index].kind != "function":
            kinds.add(regions[index].kind)
            index = regions[index].parent
        return kinds

    def _climb(self, path: str, index: int) -> tuple[Hot | None, bool]:
        """The innermost hot loop around a region inside its function, and whether no guard holds the region back."""
        regions = self.index.outlines[path].regions
        left_loops = 0
        found: Hot | None = None
        free = True
        while index >= 0:
            region = regions[index]
            if region.kind == "cadence" and found is not None and found.kind == "eval":
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
                found = self._from_loop(path, index)
            elif region.kind == "function":
                break
            index = region.parent
        return found, free

    def _loop_now_and_then(self, path: str, index: int) -> tuple[str, int] | None:
        """The hot loop of the same function that takes a branch around a region now and then."""
        regions = self.index.outlines[path].regions
        rare = False
        while index >= 0 and regions[index].kind != "function":
            rare = rare or regions[index].kind in _RARE
            if rare and regions[index].kind == "loop" and self._from_loop(path, index) is not None:
                return path, index
            index = regions[index].parent
        return None

    def _runs_as_often(self, path: str, index: int) -> bool:
        """Whether a block that looks rare runs in every step, or every other, all the same."""
        return self.delayed.holds_one(path, index) or self.emptied.filled_in(path, index) is not None

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

    def runs_without_cuda(self, path: str, index: int) -> bool:
        """Whether a test for the device keeps the code in a region for other devices."""
        return "elsewhere" in self._kinds_around(path, index)

    def unguarded(self, path: str, index: int) -> bool:
        """Whether no guard inside its function keeps the code in a region from running whenever that does."""
        return self._climb(path, index)[1]

    def _from_loop(self, path: str, index: int) -> Hot | None:
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

    # -- hot functions -----------------------------------------------------------------------------

    @property
    def callers(self) -> Callers:
        """Function -> where the project calls it, in sorted order."""
        return self.kept.callers if self.kept is not None else self._callers

    @property
    def functions(self) -> Mapping[FunctionKey, Hot]:
        """Every hot function with its reason."""
        return self.kept.functions if self.kept is not None else self._functions

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
        known = "_functions" in self.__dict__
        return Reach(self._callers, self._functions, self.programs.left) if known else None

    @cached_property
    def _callers(self) -> dict[FunctionKey, tuple[CallSite, ...]]:
        table: dict[FunctionKey, list[CallSite]] = {}
        for path, outline in self.index.outlines.items():
            for call in outline.calls:
                if last_part(call.callee) not in self.index.callable_names:
                    continue
                targets = self.types.targets(path, call.function, call.callee) or self.namesakes.targets(path, call)
                if len(targets) == 1:
                    targets = self.implementations.targets(path, call, targets[0])
                for target in filter(partial(runs_for, self.index, path, call), targets):
                    table.setdefault(target, []).append(CallSite(path, call))
        return {key: tuple(sites) for key, sites in table.items()}

    @cached_property
    def callees(self) -> dict[FunctionKey, list[tuple[CallSite, FunctionKey]]]:
        """Function -> the calls it makes to functions of the project, and what it runs without a call."""
        table = {key: list(found) for key, found in self.dispatch.edges.items()}
        for key, named in self.dispatch.named.items():
            table.setdefault(key, []).extend(edge for edge in named if edge[1] not in self.callers)
        for target, sites in self.callers.items():
            for site in sites:
                table.setdefault(FunctionKey(site.path, site.call.function), []).append((site, target))
        for calls in table.values():
            calls.sort()
        return table

    @cached_property
    def _functions(self) -> dict[FunctionKey, Hot]:
        spreading = Spreading(
            Ways(
                self._never_hot,
                self._passed_on,
                lambda hot, site, target, reasons: (
                    excludes(self.index, hot, site, target)
                    or self.paths.not_by(hot, site.path, site.call.region, reasons)
                ),
                lambda hot, site, target, reasons: (
                    excludes(self.index, hot, site, target)
                    or self.paths.never(hot, site.path, site.call.region, partial(self._calls_often, reasons=reasons))
                ),
            )
        )
        spreading.take(self._called_from_loops(), called=True)
        spreading.take(self._by_role(), called=False)
        return spreading.run()

    @cached_property
    def _host_kernels(self) -> frozenset[FunctionKey]:
        return host_kernels(self.index, self.types, self._body)

    def _never_hot(self, key: FunctionKey, called: bool) -> bool:
        if key in self._host_kernels:
            return True
        if key in self.dispatch.hooked:
            told = f"{key.path.rpartition('/')[2]} {self.index.function(key).qualname}"
            return bool(MEASURES_MODULES.search(told) or NOT_TRAINING_NAME.search(self.index.function(key).name))
        cold = is_cold(self.index, key, called, self.loops.training.trains(key, 1) is not None)
        return cold and not (called and (makes_beginnings(self.index, self.callers, key) or self._is_of_a_turn(key)))

    def _is_of_a_turn(self, key: FunctionKey) -> bool:
        """Whether a hot loop defines a function anew in each turn: whatever it is called, it is for that turn."""
        function = self.index.function(key)
        around = self.index.outlines[key.path].regions[function.region].parent
        turn = around >= 0 and self._climb(key.path, around)[0] is not None
        return turn and not NOT_TRAINING_NAME.search(function.name)

    def _called_from_loops(self) -> Iterator[tuple[FunctionKey, Hot]]:
        found = []
        for caller, calls in sorted(self.callees.items()):
            for site, target in calls:
                name = self.index.function(caller).name
                hot, free = self._climb(site.path, site.call.region)
                if (
                    hot is None
                    or not free
                    or NOT_TRAINING_NAME.search(name)
                    or self.demonstrations.is_for_people(site.path, target.path)
                    or self.demonstrations.is_a_loop_of_tests(site.path, target.path)
                    or (hot.kind != "step" and self._is_hook_by_name(site, target))
                ):
                    continue
                if hot.kind == "step" and evaluates_all(self.index, target):
                    continue
                reason = self._evaluated(self._through(hot, site, target), site, target)
                found.append((target, self._supposedly(reason, site, target), self._is_guessed(site, target)))
        # Training loops explain more than evaluation loops, sure calls more than guesses; then the order of files.
        found.sort(key=lambda each: (each[1].kind != "step", each[2]))
        yield from ((target, hot) for target, hot, _ in found)

    def _is_hook_by_name(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a method that is found by its name as text says by that name how often it runs."""
        return self.dispatch.by_text(site, target) and role_of(self.index, self.types, target, True) is not None

    def _through(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        detail = self.index.outlines[hot.loop[0]].regions[hot.loop[1]].detail if hot.loop else ""
        passed = through_loop(hot, detail, (site.path, site.call.line), target.path)
        return replace(passed, of=receiver(self.index, None, site, target))

    def _by_call(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        name = self.index.function(FunctionKey(site.path, site.call.function)).qualname
        passed = through_call(hot, name, (site.path, site.call.line), target.path)
        passed = replace(passed, of=receiver(self.index, hot, site, target))
        if target.path != site.path and is_offered(hot, site.call.callee):
            passed = replace(passed, confidence=Confidence.POSSIBLE)  # a guess, and far from it
        if passed.depth >= MANY_CALLS and passed.loop is not None:
            passed = replace(passed, confidence=Confidence.POSSIBLE)
        return self._supposedly(self._evaluated(passed, site), site, target)

    def _by_role(self) -> Iterator[tuple[FunctionKey, Hot]]:
        yield from (
            (key, of_role(self.index.function(key), key.path, role)) for key, role in self.dispatch.registered()
        )
        for path, outline in self.index.outlines.items():
            for index in range(1, len(outline.functions)):
                key = FunctionKey(path, index)
                called = any(self._is_in_earnest(site, key) for site in self.callers.get(key, ()))
                role = role_of(self.index, self.types, key, called)
                if role is None and not self.demonstrations.is_a_test(path):
                    role = self.doing.called_or_not(key, self.callers.get(key, ()))
                if role is None and not called:
                    role = self.doing.uncalled(key, (target for _, target in self.callees.get(key, ())))
                if role is not None:
                    yield key, of_role(self.index.function(key), key.path, self.unmentioned.weighed(key, role, called))

    def _is_in_earnest(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a call says how often its target runs."""
        return not self._is_guessed(site, target) and not self.demonstrations.shows(site, target)

    def _is_guessed(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether it is not known of which class the object is that a method is called of."""
        return self.implementations.supposed(site, target) or self.namesakes.guessed(site.path, site.call)

    def _passed_on(self, key: FunctionKey, hot: Hot) -> Iterator[tuple[FunctionKey, Hot, CallSite | None]]:
        if hot.depth >= MAX_CALL_DEPTH:
            return
        for target in self.dispatch.around(key):
            around: Story = (*hot.story, f"; `{self.index.function(key).qualname}` is decorated with it")
            yield target, replace(hot, because=told(around, target.path), depth=hot.depth + 1, story=around), None
        for site, target in self.callees.get(key, ()):
            # A sampling loop of one class says nothing of what stands in, in others, for the methods that it calls.
            other = self.implementations.supposed(site, target) or self.namesakes.of_any_model(site.path, site.call)
            if (
                not (other and hot.kind == "rollout")
                and (hot.kind != "rollout" or self.emptied.around(site.path, site.call.region) is None)
                and not self.dispatch.is_given(site)
                and self._climb(site.path, site.call.region)[1]
                and not self.paths.never(hot, site.path, site.call.region)
            ):
                yield target, self._by_call(hot, site, target), site

    def _supposedly(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        """Where it is a guess which class an object is of, what the class tells of itself comes before evaluations."""
        guessed = hot.kind == "eval" and not hot.evaluates and self._is_guessed(site, target)
        return replace(hot, evaluates=True) if guessed else hot

    def _evaluated(self, hot: Hot, site: CallSite, target: FunctionKey | None = None) -> Hot:
        """The reason of what is called at a site: in a branch that only evaluation takes, or to judge a model."""
        around = self._kinds_around(site.path, site.call.region)
        judged = "evaluation" in around or is_evaluation_pass(site.call.callee)
        judged = judged or (target is not None and judges(self.index, target))
        return in_evaluation(hot) if judged else hot

    def loop_at(self, path: str, index: int) -> Loop | None:
        """What kind of loop a region is, if it is one that matters."""
        return self.loops.at(path, index)
