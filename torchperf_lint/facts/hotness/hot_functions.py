"""Which functions of a project are hot: what hot loops call, what frameworks call per step, and what those call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey
from torchperf_lint.facts.call_graph.overridden_callers import runs_for
from torchperf_lint.facts.hotness.hot import (
    Hot,
    Story,
    in_evaluation,
    is_offered,
    of_role,
    through_call,
    through_loop,
    told,
)
from torchperf_lint.facts.hotness.receivers import excludes, receiver
from torchperf_lint.facts.hotness.spreading import Spreading, Ways
from torchperf_lint.facts.roles.beginnings import makes_beginnings
from torchperf_lint.facts.roles.cold import MEASURES_MODULES, NOT_TRAINING_NAME, evaluates_all, is_cold
from torchperf_lint.facts.roles.host_kernels import host_kernels
from torchperf_lint.facts.roles.losses_offered import offered_loss
from torchperf_lint.facts.roles.roles import is_evaluation_pass, judges, role_of
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.hotness.hotness import Hotness

MAX_CALL_DEPTH = 8
"""How far hotness follows calls; a longer chain of callers convinces nobody."""
MANY_CALLS = 6
"""From so many calls on a loop is too far away to be why a line runs: readers agreed with no such reason."""

_PICTURES = frozenset({"imwrite", "imsave", "savefig", "save_image", "write_png", "write_jpeg"})


class HotFunctions:
    """What hotness spreads to from loops and roles, worked out once for the whole project."""

    def __init__(self, hotness: Hotness, body: Callable[[str], Body | None]) -> None:
        self.hotness = hotness
        self.index = hotness.index
        self.types = hotness.types
        self.namesakes = hotness.namesakes
        self.dispatch = hotness.dispatch
        self.demonstrations = hotness.demonstrations
        self.implementations = hotness.implementations
        self._body = body

    @cached_property
    def callers(self) -> dict[FunctionKey, tuple[CallSite, ...]]:
        """Function -> where the project calls it, in sorted order."""
        table: dict[FunctionKey, list[CallSite]] = {}
        own = self.index.own_names.callees
        for path, outline in self.index.outlines.items():
            for call in outline.calls:
                if call.callee not in own:
                    continue
                targets = self.types.targets(path, call.function, call.callee) or self.namesakes.targets(path, call)
                if len(targets) == 1:
                    targets = self.implementations.targets(path, call, targets[0])
                if call.callee.startswith("self."):
                    targets = [target for target in targets if runs_for(self.index, path, call, target)]
                for target in targets:
                    table.setdefault(target, []).append(CallSite(path, call))
        return {key: tuple(sites) for key, sites in table.items()}

    @cached_property
    def callees(self) -> dict[FunctionKey, list[tuple[CallSite, FunctionKey]]]:
        """Function -> the calls it makes to functions of the project, and what it runs without a call."""
        table = {key: list(found) for key, found in self.dispatch.edges.items()}
        for key, named in self.dispatch.named.items():
            table.setdefault(key, []).extend(edge for edge in named if edge[1] not in self.hotness.callers)
        for target, sites in self.hotness.callers.items():
            for site in sites:
                table.setdefault(FunctionKey(site.path, site.call.function), []).append((site, target))
        for calls in table.values():
            calls.sort()
        return table

    @cached_property
    def functions(self) -> dict[FunctionKey, Hot]:
        """Every hot function with its reason."""
        never, not_by = self.hotness.paths.never, self.hotness.paths.not_by
        spreading = Spreading(
            Ways(
                self._never_hot,
                self._passed_on,
                lambda hot, site, target, reasons: (
                    excludes(self.index, hot, site, target) or not_by(hot, site.path, site.call.region, reasons)
                ),
                lambda hot, site, target, reasons: (
                    excludes(self.index, hot, site, target)
                    or never(hot, site.path, site.call.region, partial(self.hotness.calls_often, reasons=reasons))
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
            named = MEASURES_MODULES.search(told) or NOT_TRAINING_NAME.search(self.index.function(key).name)
            return bool(named) or self._saves_pictures(key)
        cold = is_cold(self.index, key, called, self.hotness.loops.training.trains(key, 1) is not None)
        if not cold or not called:
            return cold
        return not makes_beginnings(self.index, self.hotness.callers, key) and not self._is_of_a_turn(key)

    def _saves_pictures(self, key: FunctionKey) -> bool:
        """Whether a hook writes pictures of what it is given, for people who look at a model."""
        return any(last_part(call.callee) in _PICTURES for call in self.index.calls_in(key))

    def _is_of_a_turn(self, key: FunctionKey) -> bool:
        """Whether a hot loop defines a function anew in each turn: whatever it is called, it is for that turn."""
        function = self.index.function(key)
        around = self.index.outlines[key.path].regions[function.region].parent
        turn = around >= 0 and self.hotness.around.climb(key.path, around)[0] is not None
        return turn and not NOT_TRAINING_NAME.search(function.name)

    def _called_from_loops(self) -> Iterator[tuple[FunctionKey, Hot]]:
        found = []
        for caller, calls in sorted(self.callees.items()):
            if caller not in self._looping or NOT_TRAINING_NAME.search(self.index.function(caller).name):
                continue
            for site, target in calls:
                hot, free = self.hotness.around.climb(site.path, site.call.region)
                if (
                    hot is None
                    or not free
                    or self.demonstrations.is_for_people(site.path, target.path)
                    or self.demonstrations.is_a_loop_of_tests(site.path, target.path)
                    or (hot.kind != "step" and self._is_hook_by_name(site, target))
                ):
                    continue
                if hot.kind == "step" and evaluates_all(self.index, target):
                    continue
                reason = self._evaluated(self.through(hot, site, target), site, target)
                found.append((target, self._supposedly(reason, site, target), self._is_guessed(site, target)))
        # Training loops explain more than evaluation loops, sure calls more than guesses; then the order of files.
        found.sort(key=lambda each: (each[1].kind != "step", each[2]))
        yield from ((target, hot) for target, hot, _ in found)

    @cached_property
    def _looping(self) -> frozenset[FunctionKey]:
        """The functions that hold a loop."""
        found = set()
        for path, outline in self.index.outlines.items():
            found |= {FunctionKey(path, region.function) for region in outline.regions if region.kind == "loop"}
        return frozenset(found)

    def _is_hook_by_name(self, site: CallSite, target: FunctionKey) -> bool:
        """Whether a method that is found by its name as text says by that name how often it runs."""
        return self.dispatch.by_text(site, target) and role_of(self.index, self.types, target, True) is not None

    def through(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        """Why what a call in a hot loop runs is hot."""
        detail = self.index.outlines[hot.loop[0]].regions[hot.loop[1]].detail if hot.loop else ""
        of = receiver(self.index, None, site, target)
        return through_loop(hot, detail, (site.path, site.call.line), target.path, of)

    def by_call(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        """Why what a call in a hot function runs is hot."""
        name = self.index.function(FunctionKey(site.path, site.call.function)).qualname
        of = receiver(self.index, hot, site, target)
        passed = through_call(hot, name, (site.path, site.call.line), target.path, of)
        own = hot.depth == 0 and self._is_exported(site)
        if target.path != site.path and is_offered(hot, site.call.callee) and not own:
            passed = replace(passed, confidence=Confidence.POSSIBLE)  # a guess, and far from it
        if passed.depth >= MANY_CALLS and passed.loop is not None:
            passed = replace(passed, confidence=Confidence.POSSIBLE)
        return self._supposedly(self._evaluated(passed, site), site, target)

    def _is_exported(self, site: CallSite) -> bool:
        """Whether a call stands in a function that the root of its package imports for users."""
        record = self.index.function(FunctionKey(site.path, site.call.function))
        if record.class_index >= 0 or record.parent > 0:
            return False
        folders = site.path.split("/")[:-1]
        roots = ("/".join((*folders[:n], "__init__.py")) for n in range(1, len(folders) + 1))
        outline = next((found for root in roots if (found := self.index.outlines.get(root)) is not None), None)
        return outline is not None and record.name in outline.imports

    def _by_role(self) -> Iterator[tuple[FunctionKey, Hot]]:
        yield from (
            (key, of_role(self.index.function(key), key.path, role)) for key, role in self.dispatch.registered()
        )
        for path, outline in self.index.outlines.items():
            for index in range(1, len(outline.functions)):
                key = FunctionKey(path, index)
                called = any(self._is_in_earnest(site, key) for site in self.hotness.callers.get(key, ()))
                role = role_of(self.index, self.types, key, called)
                if role is None and not self.demonstrations.is_a_test(path):
                    role = self.hotness.doing.called_or_not(key, self.hotness.callers.get(key, ()))
                if role is None and called:
                    role = offered_loss(self.index, key, self.hotness.callers)
                if role is None and not called:
                    role = self.hotness.doing.uncalled(key, (target for _, target in self.callees.get(key, ())))
                if role is not None:
                    weighed = self.hotness.unmentioned.weighed(key, role, called)
                    yield key, of_role(self.index.function(key), key.path, weighed)

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
                and (hot.kind != "rollout" or self.hotness.around.emptied.around(site.path, site.call.region) is None)
                and not self.dispatch.is_given(site)
                and self.hotness.around.climb(site.path, site.call.region)[1]
                and not self.hotness.paths.never(hot, site.path, site.call.region)
            ):
                yield target, self.by_call(hot, site, target), site

    def _supposedly(self, hot: Hot, site: CallSite, target: FunctionKey) -> Hot:
        """Where it is a guess which class an object is of, what the class tells of itself comes before evaluations."""
        guessed = hot.kind == "eval" and not hot.evaluates and self._is_guessed(site, target)
        return replace(hot, evaluates=True) if guessed else hot

    def _evaluated(self, hot: Hot, site: CallSite, target: FunctionKey | None = None) -> Hot:
        """The reason of what is called at a site: in a branch that only evaluation takes, or to judge a model."""
        around = self.hotness.around.kinds(site.path, site.call.region)
        judged = "evaluation" in around or is_evaluation_pass(site.call.callee)
        judged = judged or (target is not None and judges(self.index, target))
        return in_evaluation(hot) if judged else hot
