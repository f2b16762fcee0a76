"""Functions that tell by what they do how often they run, whoever calls them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from torchperf_lint.facts.call_graph.index import CallSite, FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loops import Loops
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.roles.asked_gradients import gradient_role
from torchperf_lint.facts.roles.backwards import combines_losses, passes_on
from torchperf_lint.facts.roles.clipping import clipping_role
from torchperf_lint.facts.roles.cold import NOT_TRAINING_NAME, WHOLE_RUN_NAME
from torchperf_lint.facts.roles.fed import fed_role
from torchperf_lint.facts.roles.of_batches import batch_role
from torchperf_lint.facts.roles.operations import Operations
from torchperf_lint.facts.roles.parameter_updates import update_role
from torchperf_lint.facts.roles.per_input import per_input
from torchperf_lint.facts.roles.role import Role
from torchperf_lint.facts.syntax.chains import named
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_BY_THEMSELVES: tuple[Callable[[Index, FunctionKey], Role | None], ...] = (
    batch_role,
    per_input,
    gradient_role,
    clipping_role,
    update_role,
)


class Doing:
    """Answers for the functions of one project."""

    def __init__(self, index: Index, types: Types, loops: Loops) -> None:
        self.index = index
        self.types = types
        self.loops = loops
        self.operations = Operations(index)
        self._loops: dict[str, dict[int, list[int]]] = {}

    def called_or_not(self, key: FunctionKey, sites: Sequence[CallSite] = ()) -> Role | None:
        """What holds though callers are known, at `sites`: a training step, a run of the own module."""
        steps = self._steps_itself(key)
        if steps is not None and self._is_beside_the_batches(sites):
            steps = None
        return steps or self._runs_itself(key) or fed_role(self.index, key)

    def _is_beside_the_batches(self, sites: Sequence[CallSite]) -> bool:
        """Whether a function is only called outside any loop, by such as have a loop of batches besides: once for all.

        `self.update_actor(everything)`, and then the critic learns batch by batch.
        """
        callers = {FunctionKey(site.path, site.call.function) for site in sites}
        plain = not any(self._is_in_a_loop(site) for site in sites)
        return bool(callers) and plain and all(map(self._goes_through_batches, callers))

    def _is_in_a_loop(self, site: CallSite) -> bool:
        regions, number = self.index.outlines[site.path].regions, site.call.region
        while number >= 0 and regions[number].kind not in ("function", "loop"):
            number = regions[number].parent
        return number >= 0 and regions[number].kind == "loop"

    def uncalled(self, key: FunctionKey, parts: Iterable[FunctionKey]) -> Role | None:
        """What holds where no caller is in sight; `parts`: the functions it calls."""
        role = self.operations.role(key) or self.operations.role_by_part(key, parts)
        return role or next(filter(None, (asked(self.index, key) for asked in _BY_THEMSELVES)), None)

    def _steps_itself(self, key: FunctionKey) -> Role | None:
        """A function that does a training step outside any loop of its own is called once a step."""
        function = self.index.function(key)
        name = function.name
        # A function of its own that calls one which steps may time it, or try it; a method is the agent's update.
        of_something = function.class_index >= 0 or function.parent > 0
        action = self.loops.training.trains(key, 1) or (self.loops.training.trains(key, 2) if of_something else None)
        if name == "backward" and (action is None or passes_on(self.index, key, action)):
            return combines_losses(self.index, key)
        if action is None or WHOLE_RUN_NAME.search(name) or NOT_TRAINING_NAME.search(name) or name.startswith(_CHECKS):
            return None
        if _ASKS_FOR_GRADIENTS.search(name) and not self._steps_in(self.index.calls_in(key)):
            return None  # an attack, or who explains an answer, asks for them
        if name == "__call__" and not self._steps_in(self._calls_of_class(key)):
            return None  # what is called as a function and has no optimizer asks for gradients of its inputs
        if self._makes_an_optimizer(key):
            return None  # its one step shows, or tries, that it runs
        if self._goes_through_batches(key) or self._hands_on_to_such(key):
            return None  # the steps are in its loop, what it does once beside that is for all of them
        itself = action in self.loops.calls.directly_in(key.path, function.region)
        because = f"does a training step{_shown(action) if itself else f', as it comes to `{named(action.callee)}()`'}"
        return Role("step", because, "every training step", Confidence.LIKELY)

    def _goes_through_batches(self, key: FunctionKey) -> bool:
        """Whether a function has a loop that trains on one batch after the other: it is an update, or an epoch.

        Not one that only gathers gradients, for the one step of the optimizer behind it.
        """
        regions, calls = self.index.outlines[key.path].regions, self.loops.calls
        own = self._loops_of(key)
        if not own:
            return False
        loops = ((n, self.loops.at(key.path, n)) for n in own if " in range(" not in regions[n].detail)
        training = [n for n, loop in loops if loop is not None and loop.kind == "step"]
        if not training or not self._steps_in(calls.directly_in(key.path, self.index.function(key).region)):
            return bool(training)
        return any(self._steps_in(calls.directly_in(key.path, n)) for n in training)

    def _loops_of(self, key: FunctionKey) -> Sequence[int]:
        """The loops of a function that go through something."""
        if key.path not in self._loops:
            found: dict[int, list[int]] = {}
            for number, region in enumerate(self.index.outlines[key.path].regions):
                if region.kind == "loop" and region.iterable:
                    found.setdefault(region.function, []).append(number)
            self._loops[key.path] = found
        return self._loops[key.path].get(key.index, ())

    def _calls_of_class(self, key: FunctionKey) -> Iterable[Call]:
        outline, number = self.index.outlines[key.path], self.index.function(key).class_index
        return (call for call in outline.calls if outline.functions[call.function].class_index == number)

    @staticmethod
    def _steps_in(calls: Iterable[Call]) -> bool:
        return any(_STEPS.search(call.callee) for call in calls)

    def _hands_on_to_such(self, key: FunctionKey) -> bool:
        """Whether a method runs the version of a base class, which trains on one batch after the other."""
        function = self.index.function(key)
        calls = self.loops.calls.directly_in(key.path, function.region)
        above = [c.callee for c in calls if c.callee == f"super().{function.name}"]
        targets = (t for callee in above for t in self.types.targets(key.path, key.index, callee) if t != key)
        return any(self._goes_through_batches(target) for target in targets)

    def _makes_an_optimizer(self, key: FunctionKey) -> bool:
        """Whether a function makes the optimizer that it steps: it sets up all that it runs, once."""
        function = self.index.function(key)
        if function.class_index >= 0:
            return False
        made = (call.callee for call in self.loops.calls.directly_in(key.path, function.region))
        things = (self.types.thing(key.path, key.index, callee) for callee in made if "optim" in callee.lower())
        return any(t is not None and t.dotted.startswith("torch.optim.") and "()" not in t.dotted for t in things)

    def _runs_itself(self, key: FunctionKey) -> Role | None:
        """A method that runs its own module, `self(x)`, in no loop: what a caller asks for each input.

        Where it goes through a loop of such calls as well, it samples: the loop runs often, and the method does not.
        """
        function = self.index.function(key)
        if function.class_index < 0 or len(function.parameters) < 2 or function.name.startswith(_NO_PASS):
            return None
        if not self.types.is_module_class(Thing("class", key.path, function.class_index)):
            return None
        calls = self.loops.calls.directly_in(key.path, function.region)
        own = next((call for call in calls if call.callee in _ITSELF), None)
        if own is None or any(_WHOLE_SET.search(parameter.name) for parameter in function.parameters):
            return None
        all_own = sum(call.callee in _ITSELF for call in self.index.calls_in(key))
        if all_own > sum(call.callee in _ITSELF for call in calls):
            return None
        because = f"runs the module it belongs to: `{own.callee}()` (line {own.line})"
        if _MAKES_A_LOSS.search(function.name):
            return Role("step", f"{because}, for a loss", "every training step", Confidence.LIKELY)
        return Role("eval", because, "with every input", Confidence.LIKELY)


_ASKS_FOR_GRADIENTS = pattern(
    r"(?:^|_)(?:get|compute|calc(?:ulate)?|loss|class|input)_(?:\w+_)?(?:grads?|gradients?)$|^(?:grads?|gradients?)$"
    r"|saliency|(?:^|_)(?:attribut(?:e|ions?)|explain|relevance)(?:_|$)"
    r"|(?:^|_)(?:grad(?:ient)?|feature|input|neuron|token)_importances?(?:_|$)",
    re.IGNORECASE,
)
_ITSELF = ("self", "self.forward")
_MAKES_A_LOSS = pattern(r"^_?(?:(?:get|compute|calc(?:ulate)?|forward)_)?loss(?:es)?$|^forward_train$")
"""How methods are called that a training step asks for what it minimises."""
_STEPS = pattern(r"(?:opt\w*|scaler|_opt)\.step$", re.IGNORECASE)
"""What an optimizer, or the scaler of its gradients, does once a step."""
_CHECKS = ("check_", "verify_", "validate_")
"""How functions begin that do a step, or ask for gradients, to see whether they are right."""
_NO_PASS = ("on_", "fit", "check_", "_check_", "verify_", "_verify_", "prune", "_prune", "calibrate", "refine")
"""How methods begin that run their module for another reason than to answer an input."""
_WHOLE_SET = pattern(r"^(?:(?:train|test|val|valid|eval)_?)?(?:data_?set|data_?loader)s?$")
"""Parameters that are all there is to answer."""


def _shown(action: Call) -> str:
    return f" itself: `{named(action.callee)}()` (line {action.line})"
