"""Which loops are step loops and which are evaluation loops.

A step loop holds a training action itself (`.backward()`, `optimizer.step()`, or a call to a function that does
one) or iterates a DataLoader. The innermost loop with the action is the step loop; loops around it are epochs.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.generators import Generators
from torchperf_lint.facts.call_graph.index import Callers, FunctionKey, Index
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.evaluated_by_callers import EvaluatedByCallers
from torchperf_lint.facts.hotness.few_by_default import turns_by_default
from torchperf_lint.facts.hotness.generations import Generations
from torchperf_lint.facts.hotness.inference_loops import InferenceLoops
from torchperf_lint.facts.hotness.inputs_moved import InputsMoved
from torchperf_lint.facts.hotness.iterations import Iterations
from torchperf_lint.facts.hotness.loader_loops import LoaderLoops
from torchperf_lint.facts.hotness.loop import EVERY_GRADIENT, EVERY_STEP, FEW_TURNS, Loop
from torchperf_lint.facts.hotness.loops_by_pieces import LoopsByPieces
from torchperf_lint.facts.hotness.outer_updates import gathers_first, learns_in_epochs
from torchperf_lint.facts.hotness.training_actions import TrainingActions
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.outlines.records import Region
from torchperf_lint.facts.roles.replay import draws_and_trains
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_CALIBRATES = pattern(r"^calib(?:ration)?_", re.IGNORECASE)
"""A pass over a few batches that show a model's ranges to who quantizes it: once."""

_ATTACKS = pattern(r"attack|adversar|perturb|(?:^|[._])(?:pgd|fgsm|deepfool)", re.IGNORECASE)
_OPTIMIZES = pattern(r"^(?:zero_grad|step|optimizer_step|train\w*|update\w*)$")
_OF_DATA = pattern(r"(?:^|/)datasets?/")
_PREPARES = pattern(r"^_?(?:(?:pre)?process|download|prepare|convert|extract)(?:_\w+)?$")


class Loops:
    """Classifies the loops of a project on demand; answers are kept."""

    def __init__(
        self,
        index: Index,
        types: Types,
        called_without_grad: Callable[[FunctionKey], bool] = lambda _: False,
        body: Callable[[str], Body | None] = lambda path: None,
        callers: Callable[[], Callers] = dict,
    ) -> None:
        self.index = index
        self.types = types
        self.body = body
        self.generators = Generators(index, types, body)
        self.calls = DirectCalls(index)
        self.training = TrainingActions(index, types, self.calls)
        self.without_grad = without_grad = WithoutGrad(index, called_without_grad)
        self.of_loaders = LoaderLoops(index, types, self.calls, without_grad)
        by_callers = EvaluatedByCallers(index, callers, body)
        self.inference = InferenceLoops(index, types, self.calls, without_grad, self.generators, by_callers)
        self.iterations = Iterations(index, self.calls, self._by_itself, body)
        self.inputs_moved = InputsMoved(index, types, self.calls, without_grad, body)
        self.generations = Generations(index, types, self.calls, self._by_itself)
        self._known: dict[tuple[str, int], Loop | None] = {}
        self.by_pieces = LoopsByPieces(index, self._by_itself, self.inference, self.of_loaders)

    def at(self, path: str, index: int) -> Loop | None:
        """What the loop region `index` of a file is; None for a loop that is not hot."""
        return self._by_itself(path, index) or self.by_pieces.at(path, index)

    def _by_itself(self, path: str, index: int) -> Loop | None:
        """What a loop is, whatever loops it holds that run a model."""
        key = (path, index)
        if key not in self._known:
            self._known[key] = None  # while it is being worked out: generators may draw on each other
            found = self._classify(path, index)
            outer = found is not None and found.kind == "step" and learns_in_epochs(self.training, path, index)
            self._known[key] = None if outer else found  # the steps are those of the loops inside
        return self._known[key]

    def _prepares_data(self, path: str, function: int) -> bool:
        """Whether a function makes the files of a data set, which it does once: `process` of a class in `datasets/`."""
        return bool(_OF_DATA.search(path) and _PREPARES.search(self.index.outlines[path].functions[function].name))

    def _classify(self, path: str, index: int) -> Loop | None:
        region = self.index.outlines[path].regions[index]
        if region.kind != "loop" or (region.turns is not None and region.turns <= FEW_TURNS):
            return None
        trained = self.training.of_loop(path, index) or self.training.on_a_batch_taken(path, index)
        if trained and (gathers_first(self.index, self.calls, path, index) or self._is_short(path, region)):
            return None
        if trained:
            return Loop("step", trained, Confidence.CERTAIN, region.head, self._step_of(path, index))
        if _CALIBRATES.search(last_part(region.iterable)) or self._prepares_data(path, region.function):
            return None
        return (
            self._training_by_name(path, index)
            or self.of_loaders.over_loader(path, index)
            or self.inference.denoising(path, index)
            or self.inference.decoding(path, index)
            or self.inference.over_data_set(path, index)
            or self.of_loaders.over_moved(path, index)
            or self._over_buffer(path, index)
            or self._handing_over(path, index)
            or self._evaluating(path, index)
            or self.iterations.at(path, index)
            or self.generations.at(path, index)
            or self.inference.over_inputs(path, index)
            or self.inference.over_batches(path, index)
            or self.inputs_moved.at(path, index)
        )

    def _is_short(self, path: str, region: Region) -> bool:
        """Whether a loop turns a few times by default, and no optimizer learns in it."""
        turns = turns_by_default(self.index.outlines[path], self.body(path), region)
        return turns is not None and turns <= FEW_TURNS

    def _step_of(self, path: str, index: int) -> str:
        """What a turn with a backward pass is: a training step, or one of an attack, which changes no weights."""
        outline = self.index.outlines[path]
        if not _ATTACKS.search(outline.functions[outline.regions[index].function].qualname):
            return EVERY_STEP
        called = (last_part(call.callee) for call in outline.calls)
        return EVERY_STEP if any(map(_OPTIMIZES.search, called)) else EVERY_GRADIENT

    def _evaluating(self, path: str, index: int) -> Loop | None:
        """A loop that runs a model in evaluation mode, and in no loop that is hot itself."""
        regions = self.index.outlines[path].regions
        around = regions[index].parent
        while around >= 0 and regions[around].kind != "function":
            if regions[around].kind == "loop" and self._by_itself(path, around) is not None:
                return None
            around = regions[around].parent
        return self.inference.in_evaluation_mode(path, index)

    def _handing_over(self, path: str, index: int) -> Loop | None:
        """A loop of a generator: it turns whenever the loop that draws on the generator does."""
        if (path, index) not in self.generators.yielding:
            return None
        region = self.index.outlines[path].regions[index]
        for other, drawing in self.generators.drawn.get(FunctionKey(path, region.function), ()):
            loop = self.at(other, drawing)
            if loop is not None:
                detail = self.index.outlines[other].regions[drawing].detail
                place = f"line {loop.line}" if other == path else f"{other}:{loop.line}"
                because = f"hands over what the loop `{detail}` ({place}) takes each turn"
                return Loop(loop.kind, because, Confidence.LIKELY, region.head, loop.when)
        return None

    def _training_by_name(self, path: str, index: int) -> Loop | None:
        """A loop that hands each batch to a method which trains on it, of an object that somebody handed in."""
        because = self.training.by_name(path, index)
        head = self.index.outlines[path].regions[index].head
        return Loop("step", because, Confidence.LIKELY, head, EVERY_STEP) if because else None

    def _over_buffer(self, path: str, index: int) -> Loop | None:
        """A loop that draws a batch from a replay buffer each turn, and hands it to what trains on it by its name."""
        found = draws_and_trains(self.calls.directly_in(path, index))
        if found is None or self.types.targets(path, found[1].function, found[1].callee):
            return None  # what trains is known, and has no training action
        drawn, trained = found
        because = (
            f"draws a batch each turn, `{drawn.callee}()`, and trains on it: `{trained.callee}()` (line {trained.line})"
        )
        return Loop("step", because, Confidence.LIKELY, self.index.outlines[path].regions[index].head, EVERY_STEP)
