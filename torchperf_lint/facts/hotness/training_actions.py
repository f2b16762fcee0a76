"""What trains: `.backward()`, `optimizer.step()`, and functions that do one."""

from __future__ import annotations

import re
from functools import cached_property

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loop import FEW_TURNS, PARTS
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.cold import MEASURES_NAME, PROFILES_NAME
from torchperf_lint.facts.syntax.chains import last_part, named
from torchperf_lint.patterns import pattern

_DEPTH = 3
_BACKWARD = frozenset({"backward", "manual_backward"})
_ACTIONS = _BACKWARD | {"step"}
_OPTIMIZER = pattern(r"optim|(?:^|[._\[])opt(?:[._\[\]]|$|\d)|_opt$|scaler$|engine$", re.IGNORECASE)
_PREPARES = pattern(r"^_?pre_?alloc")
"""Functions that take a step so that the allocator has seen one."""
_TRAINS_ON_ONE = pattern(r"\w\.(?:train|fit|learn)_(?:on_)?(?:a_|one_|single_)?(?:batch|step|iter|iteration)$")
_OF_A_MODULE = pattern(r"\.(?:parameters|buffers|modules|children|named_\w+)$")
"""`next(model.parameters()).device`."""
_OFF = pattern(r"\b(?:no_grad|inference_mode)\b")
_EVALUATES = pattern(r"^_?(?:eval|evaluat\w+|valid|validat\w+|val|test)_(?:one_|single_)?(?:step|batch|iter)")
"""Functions of evaluation by their names: a factory of steps makes both kinds, `eval_step = step_fn(train=False)`."""
_IN_A_LIST = pattern(r" in [\[(]")


class TrainingActions:
    """Answers for one project; they are kept."""

    def __init__(self, index: Index, types: Types, calls: DirectCalls) -> None:
        self.index = index
        self.types = types
        self.calls = calls
        self._trains: dict[tuple[FunctionKey, int], Call | None] = {}
        self._acting: dict[str, dict[int, list[Call]]] = {}
        self._lists: dict[str, list[int]] = {}

    def of_loop(self, path: str, index: int) -> str | None:
        """What a loop does directly that trains, as part of a sentence; None where it does nothing of the kind."""
        action = self._first_action(path, index)
        if action is not None:
            return f"holds `{named(action.callee)}()` (line {action.line})"
        # A loop over parts of a model, one of which updates itself, is no loop of steps.
        parts = PARTS.search(self.index.outlines[path].regions[index].iterable)
        off = not parts and self._without_gradients(path, index)
        for call in self.calls.directly_in(path, index) if not parts else ():
            evaluates = _EVALUATES.match(last_part(call.callee)) is not None
            for target in self.types.targets(path, call.function, call.callee):
                if (evaluates and not self._always_trains(target)) or (off and not self._records(target, _DEPTH)):
                    continue
                if self._is_pass(target) and self._is_pass(FunctionKey(path, call.function)):
                    continue  # a module that trains a part of its own in each pass: the step is around both
                inner = self.trains(target, _DEPTH)
                if inner is not None:
                    return f"calls `{call.callee}()` (line {call.line}), which runs `{named(inner.callee)}()`"
        return next(filter(None, (self.of_loop(path, inner) for inner in self._listed_inside(path, index))), None)

    def _without_gradients(self, path: str, index: int) -> bool:
        """Whether a loop stands under `no_grad`: what it calls computes gradients for others who ask for them."""
        regions = self.index.outlines[path].regions
        while index >= 0 and regions[index].kind != "function":
            if regions[index].kind == "grad-off":
                return True
            index = regions[index].parent
        function = self.index.function(FunctionKey(path, regions[index].function)) if index >= 0 else None
        return function is not None and any(_OFF.search(decorator) for decorator in function.decorators)

    def _always_trains(self, key: FunctionKey) -> bool:
        """Whether a function takes a step whenever it runs, whatever it is called: adaptation at test time."""
        function = self.index.function(key)
        calls = self.calls.directly_in(key.path, function.region)
        actions = [c for c in calls if c.region == function.region and self.is_action(key.path, c)]
        return {last_part(c.callee) == "step" for c in actions} == {True, False}

    def _records(self, key: FunctionKey, depth: int) -> bool:
        """Whether a function, or one that it calls, records gradients under `no_grad` too: by `enable_grad`."""
        calls = self.index.calls_in(key)
        if any("enable_grad" in decorator for decorator in self.index.function(key).decorators):
            return True
        if key in self._recording:
            return True
        targets = (t for c in calls if depth > 1 for t in self.types.targets(key.path, c.function, c.callee))
        return any(self._records(target, depth - 1) for target in targets if target != key)

    @cached_property
    def _recording(self) -> frozenset[FunctionKey]:
        sites = self.index.calls_named.get("enable_grad", ())
        return frozenset(FunctionKey(site.path, site.call.function) for site in sites)

    def _is_pass(self, key: FunctionKey) -> bool:
        """Whether a function is the forward pass of a module."""
        function = self.index.function(key)
        return function.name == "forward" and function.class_index >= 0

    def _listed_inside(self, path: str, index: int) -> list[int]:
        """The loops directly in a loop that go through a list written out: `for part in ["faces", "hands"]:`."""
        regions = self.index.outlines[path].regions
        if path not in self._lists:
            few = (n for n, region in enumerate(regions) if 1 < (region.turns or 0) <= FEW_TURNS)
            self._lists[path] = [n for n in few if _IN_A_LIST.search(regions[n].detail)]
        return [n for n in self._lists[path] if n > index and self._loop_around(path, n) == index]

    def by_name(self, path: str, index: int) -> str | None:
        """What a loop calls to train on the batch that it moves each turn, by its name, where nobody can read it."""
        calls = self.calls.directly_in(path, index)
        moves = any(last_part(call.callee) in ("to", "cuda") for call in calls)
        for call in calls if moves else ():
            if _TRAINS_ON_ONE.search(call.callee) and not self.types.targets(path, call.function, call.callee):
                return f"calls `{call.callee}()` (line {call.line}), which trains on one batch by its name"
        return None

    def on_a_batch_taken(self, path: str, index: int) -> str | None:
        """A loop that takes a batch, `x = next(batches)`, and trains on it in a loop inside: a GAN, phase by phase."""
        outline, calls = self.index.outlines[path], self.calls.directly_in(path, index)
        taken = {call.line for call in calls if call.callee == "next"}
        if not taken:
            return None
        taken -= {call.line for call in calls if _OF_A_MODULE.search(call.callee)}
        region = outline.regions[index]
        bound = (b for b in outline.bindings if b.line in taken and b.function == region.function) if taken else ()
        line = next((b.line for b in bound if b.value.startswith("next()")), None)
        inside = range(index + 1, len(outline.regions)) if line is not None else ()
        for inner in inside:
            if self._loop_around(path, inner) == index and self.of_loop(path, inner):
                return f"takes a batch with `next()` (line {line}) and trains on it in a loop inside"
        return None

    def _loop_around(self, path: str, index: int) -> int:
        """The loop directly around a loop, in its function; -1 where there is none."""
        regions = self.index.outlines[path].regions
        if regions[index].kind != "loop":
            return -1
        index = regions[index].parent
        while index >= 0 and regions[index].kind not in ("loop", "function", "class"):
            index = regions[index].parent
        return index if index >= 0 and regions[index].kind == "loop" else -1

    def trains(self, key: FunctionKey, depth: int) -> Call | None:
        """The training action a function does outside loops of its own, through at most `depth` calls."""
        if (key, depth) in self._trains:
            return self._trains[key, depth]
        region = self.index.function(key).region
        found = self._first_action(key.path, region)
        if found is None and depth > 1:
            found = self._of_callees(key, region, depth - 1)
        if found is not None and self._is_a_trial(key):
            found = None
        self._trains[key, depth] = found
        return found

    def _of_callees(self, key: FunctionKey, region: int, depth: int) -> Call | None:
        """The first training action of what a function calls outside loops of its own."""
        for call in self.calls.directly_in(key.path, region):
            for target in self.types.targets(key.path, call.function, call.callee):
                found = self.trains(target, depth) if target != key else None
                if found is not None:
                    return found
        return None

    def _first_action(self, path: str, index: int) -> Call | None:
        """The first training action directly in a loop, or in a function outside loops."""
        if path not in self._may_act:
            return None
        if path not in self._acting:
            named_so = [call for call in self.index.outlines[path].calls if last_part(call.callee) in _ACTIONS]
            self._acting[path] = self.calls.by_loop(path, named_so)
        return next((call for call in self._acting[path].get(index, ()) if self.is_action(path, call)), None)

    @cached_property
    def _may_act(self) -> frozenset[str]:
        """The files with calls that bear the name of a training action."""
        return frozenset(site.path for name in _ACTIONS for site in self.index.calls_named.get(name, ()))

    def _is_a_trial(self, key: FunctionKey) -> bool:
        """Whether a function takes its steps to measure them, or to have taken one, by its name."""
        function = self.index.function(key)
        if _PREPARES.search(function.name) or MEASURES_NAME.search(function.name):
            return True
        if not PROFILES_NAME.search(function.name):
            return False
        calls = self.calls.directly_in(key.path, function.region)
        return not any(last_part(c.callee) == "step" and self.is_action(key.path, c) for c in calls)

    def is_action(self, path: str, call: Call) -> bool:
        """Whether a call computes gradients or steps an optimizer."""
        name = last_part(call.callee)
        if name in _BACKWARD:
            return not call.callee.startswith(("super()", "self.backward", "ctx."))
        if name != "step" or "." not in call.callee:
            return False
        receiver = call.callee[: -len(".step")]
        if _OPTIMIZER.search(receiver):
            return True
        things = self.types.things(path, call.function, receiver)
        return any(
            t.kind == "external" and t.dotted.startswith("torch.optim.") and "lr_scheduler" not in t.dotted
            for t in things
        )
