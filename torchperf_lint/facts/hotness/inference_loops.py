"""Loops that run a model without training it: over samples of a data set, over timesteps, decoding."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property, lru_cache

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.generators import Generators
from torchperf_lint.facts.call_graph.index import FunctionKey, Index
from torchperf_lint.facts.call_graph.module_calls import ModuleCalls
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.batches_to_functions import function_of_batches
from torchperf_lint.facts.hotness.evaluated_by_callers import EvaluatedByCallers
from torchperf_lint.facts.hotness.evaluated_by_methods import runs_by_methods
from torchperf_lint.facts.hotness.generating_loops import generates_each_turn
from torchperf_lint.facts.hotness.inputs_one_by_one import counted_over, over_inputs
from torchperf_lint.facts.hotness.loop import (
    EVERY_BATCH,
    EVERY_DENOISING_STEP,
    EVERY_EVALUATION,
    EVERY_INPUT,
    EVERY_MOVE,
    EVERY_RUN,
    EVERY_TURN,
    PARTS,
    Loop,
)
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.outlines.records import Binding, Call
from torchperf_lint.facts.outlines.signatures import IN_BATCHES
from torchperf_lint.facts.roles.agents import ENV_STEP
from torchperf_lint.facts.roles.cold import COLD_NAME
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_JUDGES = pattern(r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test)(?:_|$)", re.IGNORECASE)
_TIMESTEPS = pattern(r"timesteps(?:_tensor)?(?:\[\])?$", re.IGNORECASE)
_INPUTS = pattern(
    r"(?:^|[._])(?:texts?|sentences?|sents|samples|images|imgs|inputs|prompts|chunks|paths|files|utterances|wavs|audios|"
    r"clips|frames|crops|(?:\w+_)?sequences|file_?(?:list|names|paths)|(?:image|img|wav|audio|video)_list|class_?names|queries|passages|documents|docs|examples|requests)(?:\(\))?$",
    re.IGNORECASE,
)
"""What is put into a model one after the other, by its name; a decoder turns over steps, times and lengths."""
_TOKEN_BY_TOKEN = pattern(
    r" in \w*range\(.*\b(?:max|sample|gen|generated?|dec\w*|target|tgt)_(?:\w+_)?(?:len|length|tokens|steps)\b"
)
"""A loop that runs a model up to a greatest length decodes, wherever gradients are switched off."""
_DECODES = pattern(
    r"(?:^|[._])(?:Decoding|Generation)\w*Task\b|(?:Beam|Greedy)Search|SequenceGenerator|"
    r"(?:^|[._])(?:\w+_)?(?:beam|greedy)_(?:search|decode)(?:_\w+)?$"
)
_GIVES_LOGITS = pattern(r"\w\.(?:get_|next_|compute_|forward_|step_|decode_)?(?:next_token_)?logits$")
"""`self.inference.logits(tokens)`: whatever runs the network, it hands out what the next token is drawn of."""
_REPEATS = pattern(r"restart|trial|attempt|attack|episode|transition|quer(?:y|ies)\b|n_iter", re.IGNORECASE)
"""What an attack, or who plays, goes through: no text comes of it."""
_OF_A_SAMPLER = pattern(r"(?:^|_)(?:sample|bpd|denois\w*|ddim|ddpm|reverse|diffusion)(?:_\w+)?_loop(?:_|$)")
"""Functions that go through all timesteps of a diffusion, as `p_sample_loop` and `calc_bpd_loop` do."""
_STEPS, _STEPS_OF_A_SAMPLER = 2, 3
"""How many functions a turn goes through to the model: `p_sample`, `p_mean_variance` of a class, that of its base."""
_SCHEDULER_STEP = pattern(r"(?:^|[._])(?<!lr_)sched(?:uler)?\.step$", re.IGNORECASE)
_LOOKS = pattern(r"(?:^|_)(?:sample|show|save|draw|dump|log|render|display)(?:_|$)", re.IGNORECASE)
_DEMO = pattern(r"(?:^|[/_])demos?(?:_\w+)?(?:\.py$|/)")
_SAMPLES = pattern(r"(?:^|_)samp(?:le)?s?$", re.IGNORECASE)
_CALLED_LOSS = pattern(r"(?:^|[._])(?:criterion|loss_(?:fn|func|function))$")
_LOSS = pattern(r"^torch\.nn\.(?:modules\.loss\.)?\w+Loss\(\)$|^torch\.nn\.functional\.(?:\w+_loss|\w*cross_entropy)$")
_MODES = (".eval", ".train")
IN_EVALUATION_MODE = "runs a model in evaluation mode"
_KEPT = ("cached_property", "lru_cache", "cache")
_DATA_SET = pattern(r" in .*\b\w*data_?set(?![\w.\[(])", re.IGNORECASE)
"""`for i in range(len(dataset))`, `for sample in self.test_dataset`."""
_A_SAMPLE = pattern(r"(?:^|[._])data_?set\[\]$", re.IGNORECASE)
_SHOWS = pattern(
    r"(?:^|\.)(?:save_(?:image|img|picture|video|audio|wav|gif)\w*|imshow|imsave|imwrite|savefig|"
    r"add_(?:images?|figure|video|audio))$|fromarray\(\)\.save$"
)


@lru_cache(1 << 14)
def _is_called_sample(target: str) -> bool:
    return _SAMPLES.search(target) is not None


def _turns_of_inference(iterable: str, detail: str, decodes: bool, called: Sequence[str]) -> tuple[str, str]:
    """What a loop without gradients that runs a model is, and when it turns: an evaluation of inputs, or a decoder."""
    if iterable == IN_BATCHES:
        return "eval", EVERY_BATCH
    if _INPUTS.search(iterable):
        return "eval", EVERY_INPUT
    if any(map(ENV_STEP.search, called)):
        return "rollout", EVERY_MOVE
    writes = (decodes or any(map(_GIVES_LOGITS.search, called))) and not _REPEATS.search(detail)
    return "rollout", EVERY_TURN if writes else EVERY_RUN


class InferenceLoops:
    """Answers for one project."""

    def __init__(
        self,
        index: Index,
        types: Types,
        calls: DirectCalls,
        without_grad: WithoutGrad,
        generators: Generators,
        by_callers: EvaluatedByCallers,
    ) -> None:
        self.index = index
        self.by_callers = by_callers
        self.types = types
        self.calls = calls
        self.without_grad = without_grad
        self.generators = generators
        self.modules = ModuleCalls(index, types, calls.directly_in)
        self._modes_set: dict[str, dict[int, list[Call]]] = {}
        self._samples: dict[str, list[Binding]] = {}
        self._shown: dict[str, list[Binding]] = {}

    def over_data_set(self, path: str, index: int) -> Loop | None:
        """A loop over the samples of a data set that calls a function which runs without gradients: evaluation."""
        region = self.index.outlines[path].regions[index]
        if not _DATA_SET.search(region.detail) and not self._takes_samples(path, index):
            return None
        for call in self.calls.directly_in(path, index):
            for target in self.types.targets(path, call.function, call.callee):
                if self.without_grad.function(target):
                    because = f"goes through a data set and calls `{call.callee}()` (line {call.line}) for each sample"
                    return Loop("eval", because, Confidence.LIKELY, region.head, "every sample that is evaluated")
        return None

    def over_inputs(self, path: str, index: int) -> Loop | None:
        """A loop over frames or files that hands each to what computes without gradients, one or two calls on."""
        region = self.index.outlines[path].regions[index]
        name = counted_over(region.detail) or region.iterable
        if self._looked_at(path, index):
            return None
        written = generates_each_turn(self.index, self.types, self.calls, path, index, name)
        return written or over_inputs(self.index, self.types, self.calls, self.without_grad, path, index, name)

    def over_batches(self, path: str, index: int) -> Loop | None:
        """A loop that cuts its inputs into batches, and hands each to what runs a model without gradients."""
        region = self.index.outlines[path].regions[index]
        if region.iterable != IN_BATCHES or self._looked_at(path, index):
            return None
        for call in self.calls.directly_in(path, index):
            for target in self.types.targets(path, call.function, call.callee):
                run = self.modules.run_by(target) if self.without_grad.function(target) else None
                if run is not None:
                    because = f"cuts its inputs into batches and calls `{call.callee}()` (line {call.line}) for each, "
                    because += f"which runs `{run}()` without gradients"
                    return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_BATCH)
        return None

    def _takes_samples(self, path: str, index: int) -> bool:
        """Whether each turn takes one sample of a data set: `sample = dataset[i]`, for every n-th `i` as well."""
        region = self.index.outlines[path].regions[index]
        if " in range(" not in region.detail:
            return False
        if path not in self._samples:
            bindings = self.index.outlines[path].bindings
            self._samples[path] = [b for b in bindings if "[]" in b.value and _A_SAMPLE.search(b.value)]
        own = (b for b in self._samples[path] if b.function == region.function)
        return any(region.start[0] <= b.line <= region.end[0] for b in own)

    def denoising(self, path: str, index: int) -> Loop | None:
        """A loop over the timesteps of a diffusion scheduler that steps it each turn, wherever gradients are off."""
        region = self.index.outlines[path].regions[index]
        if not _TIMESTEPS.search(region.iterable):
            return None
        for call in self.calls.directly_in(path, index):
            if _SCHEDULER_STEP.search(call.callee):
                because = f"steps a diffusion scheduler each turn: `{call.callee}()` (line {call.line})"
                return Loop("rollout", because, Confidence.CERTAIN, region.head, EVERY_DENOISING_STEP)
        return None

    def decoding(self, path: str, index: int) -> Loop | None:
        """A loop without gradients that calls a module each turn: decoding, sampling, a rollout."""
        region = self.index.outlines[path].regions[index]
        # A sampler that hands out what each turn gives has the `with` inside: no gradient is kept across a `yield`.
        drawn = (path, index) in self.generators.yielding or region.iterable == IN_BATCHES
        drawn = drawn or bool(_OF_A_SAMPLER.search(self.index.outlines[path].functions[region.function].name))
        inside = drawn and self.without_grad.inside(path, index)
        guided = self._is_guided(path, index)
        by_name = bool(_TOKEN_BY_TOKEN.search(region.detail)) or self._decodes_by_name(path, region.function)
        without_grad = inside or guided or by_name or self.without_grad.around(path, index) or self._plays(path, index)
        # Who cuts a list of inputs into batches, moves them and trains on none runs a model on them, gradients on or
        # off; chunks of what is on the device already may be of a pass of training.
        runs = without_grad or (region.iterable == IN_BATCHES and self._moves(path, index))
        if not runs or self._runs_once(path, region.function) or PARTS.search(region.iterable):
            return None
        calls = self.calls.directly_in(path, index)
        kind, when = _turns_of_inference(region.iterable, region.detail, by_name, [c.callee for c in calls])
        if _DATA_SET.search(region.detail):
            kind, when = "eval", EVERY_INPUT
        if _JUDGES.search(self.index.outlines[path].functions[region.function].name):
            kind, when = "eval", EVERY_EVALUATION
        if when == EVERY_RUN and any(self._is_a_loss(path, call) for call in calls):
            kind, when = "eval", EVERY_EVALUATION
        if guided:
            when = EVERY_DENOISING_STEP
        elif kind == "rollout" and any(_SHOWS.search(call.callee) for call in self.calls.all_in(path, index)):
            return None  # a few results for people, one file each
        run = self._runs(path, region.function, calls, _STEPS_OF_A_SAMPLER if guided else _STEPS)
        if run is None and region.iterable == IN_BATCHES:
            run = self._handed_in(path, region.function, calls)
        return Loop(kind, run[0], run[1], region.head, when) if run is not None else None

    def _runs(self, path: str, function: int, calls: Sequence[Call], steps: int) -> tuple[str, Confidence] | None:
        """What each turn of a loop runs, in words, and how sure that is, through up to `steps` functions."""
        for call in calls:
            known = self.modules.is_one(path, function, call.callee)
            if known is not None:
                because = f"calls the module `{call.callee}` each turn (line {call.line})"
                return because, Confidence.CERTAIN if known else Confidence.LIKELY
        for call in calls:
            targets = self.types.targets(path, call.function, call.callee)
            inner = next(filter(None, (self.modules.run_by(target, steps) for target in targets)), None)
            if inner is not None:
                because = f"calls `{call.callee}()` each turn (line {call.line}), which runs `{inner}()`"
                return because, Confidence.LIKELY
            if _GIVES_LOGITS.search(call.callee):
                because = f"asks for the logits of the next token each turn: `{call.callee}()` (line {call.line})"
                return because, Confidence.LIKELY
            if ENV_STEP.search(call.callee):
                return f"steps an environment each turn: `{call.callee}()` (line {call.line})", Confidence.LIKELY
        return None

    def _handed_in(self, path: str, function: int, calls: Sequence[Call]) -> tuple[str, Confidence] | None:
        """What a loop over batches runs that its function was handed, in words, and how sure that is."""
        call = function_of_batches(self.index.outlines[path].functions[function], calls)
        if call is None or any(last_part(other.callee) in ("grad", "backward") for other in calls):
            return None
        because = f"moves one piece of the input after the other and calls `{call.callee}()` (line {call.line}) with it"
        return because, Confidence.LIKELY

    def _is_guided(self, path: str, index: int) -> bool:
        """Whether a sampler asks for gradients to guide it, in a loop over timesteps that shows little of its turns.

        It cuts what it carries from turn to turn off its graph, `img = img.detach_()`: it trains nothing.
        """
        outline, region = self.index.outlines[path], self.index.outlines[path].regions[index]
        if not _OF_A_SAMPLER.search(outline.functions[region.function].name):
            return False
        shown = (call for call in self.calls.all_in(path, index) if _SHOWS.search(call.callee))
        if not all(self._in_cadence(path, call, index) for call in shown):
            return False
        within = (b for b in outline.bindings if region.start[0] <= b.line <= region.end[0])
        cut = (b for b in within if b.function == region.function and b.value.endswith((".detach()", ".detach_()")))
        return any(b.value.rpartition(".")[0] == b.target for b in cut)

    def _in_cadence(self, path: str, call: Call, index: int, kinds: Sequence[str] = ("cadence",)) -> bool:
        """Whether a call in a loop runs in some of its turns only: `if i % 10 == 0`."""
        regions, number = self.index.outlines[path].regions, call.region
        while number > index:
            if regions[number].kind in kinds:
                return True
            number = regions[number].parent
        return False

    def _is_a_loss(self, path: str, call: Call) -> bool:
        """Whether a call computes a loss, which without gradients only judges: by its name, or one of torch's."""
        if _CALLED_LOSS.search(call.callee):
            return True
        things = self.types.things(path, call.function, call.callee)
        return any(thing.kind == "external" and _LOSS.match(thing.dotted) for thing in things)

    def in_evaluation_mode(self, path: str, index: int) -> Loop | None:
        """A loop that runs a model which the function has put into evaluation mode, though gradients are recorded."""
        region = self.index.outlines[path].regions[index]
        called = self._modes(path).get(region.function, ())
        timed = any(call.callee.endswith("cuda.synchronize") for call in called)
        modes = [call for call in called if call.callee.endswith(_MODES) and call.line <= region.end[0]]
        if timed or self._for_people(path, index):
            return None
        if not modes:
            return self._put_by_callers(path, index)
        for call in self.calls.directly_in(path, index):
            model = call.callee.removesuffix(".forward")
            said = [mode for mode in modes if mode.callee.rpartition(".")[0] == model]
            if said and said[-1].callee.endswith(".eval") and said[-1].line < region.start[0]:
                put = f"`{said[-1].callee}()` (line {said[-1].line})"
                because = f"{IN_EVALUATION_MODE}: {put}, then `{call.callee}(...)` each turn (line {call.line})"
                return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_INPUT)
        return self._by_a_method(path, index, modes)

    def _by_a_method(self, path: str, index: int, modes: Sequence[Call]) -> Loop | None:
        """The same where each turn calls a method that runs the model; `modes`: those the function itself sets."""
        region = self.index.outlines[path].regions[index]
        for call, run, _, model in runs_by_methods(self.index, self.types, self.calls, path, index):
            said = [mode for mode in modes if mode.callee.rpartition(".")[0] == model]
            place: tuple[str, int] | None = None
            if said and said[-1].callee.endswith(".eval") and said[-1].line < region.start[0]:
                place = (path, said[-1].line)
            elif not modes:
                place = self.by_callers.put(FunctionKey(path, region.function), model)
            if place is not None:
                at = f"line {place[1]}" if place[0] == path else f"{place[0]}:{place[1]}"
                turn = f"`{call.callee}()` each turn (line {call.line}), which runs `{run.callee}(...)`"
                because = f"{IN_EVALUATION_MODE}: `{model}.eval()` ({at}), then {turn}"
                return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_INPUT)
        return None

    def _put_by_callers(self, path: str, index: int) -> Loop | None:
        """The same where the function sets no mode: all that call it have put the model that they pass into one."""
        region, calls = self.index.outlines[path].regions[index], self.calls.directly_in(path, index)
        if region.function == 0 or any(last_part(call.callee) == "grad" for call in calls):
            return None
        for call in calls:
            model = call.callee.removesuffix(".forward")
            place = self.by_callers.put(FunctionKey(path, region.function), model) if model.isidentifier() else None
            if place is not None:
                at = f"line {place[1]}" if place[0] == path else f"{place[0]}:{place[1]}"
                run = f"`{call.callee}(...)` each turn (line {call.line})"
                because = f"{IN_EVALUATION_MODE}: `.eval()` ({at}), then {run}"
                return Loop("eval", because, Confidence.LIKELY, region.head, EVERY_INPUT)
        return self._by_a_method(path, index, ())

    def _modes(self, path: str) -> dict[int, list[Call]]:
        """Function -> its calls of `model.eval()` and `model.train()`, and of what waits for the device."""
        if path not in self._modes_set:
            found: dict[int, list[Call]] = {}
            for call in self.index.outlines[path].calls if path in self._setting_modes else ():
                if call.callee.endswith((*_MODES, "cuda.synchronize")):
                    found.setdefault(call.function, []).append(call)
            self._modes_set[path] = found
        return self._modes_set[path]

    @cached_property
    def _setting_modes(self) -> frozenset[str]:
        """The files that may hold such calls, by the last names of what they call."""
        named = self.index.calls_named
        return frozenset(site.path for name in ("eval", "train", "synchronize") for site in named.get(name, ()))

    def _for_people(self, path: str, index: int) -> bool:
        """Whether a loop makes a few samples to look at: by its file's or function's name, by names or calls in it."""
        outline, region = self.index.outlines[path], self.index.outlines[path].regions[index]
        name = outline.functions[region.function].name
        if _LOOKS.search(name) or COLD_NAME.search(name) or _DEMO.search(path):
            return True
        if path not in self._shown:
            self._shown[path] = [b for b in outline.bindings if _is_called_sample(b.target)]
        own = (b for b in self._shown[path] if b.function == region.function)
        if any(region.start[0] <= b.line <= region.end[0] for b in own):
            return True
        return any(_SHOWS.search(call.callee) for call in self.calls.all_in(path, index))

    def _looked_at(self, path: str, index: int) -> bool:
        """The same for loops over inputs, wherever they stand: who shows results only to debug wants them fast."""
        outline, region = self.index.outlines[path], self.index.outlines[path].regions[index]
        name = outline.functions[region.function].name
        shown = (call for call in self.calls.all_in(path, index) if _SHOWS.search(call.callee))
        return bool(_LOOKS.search(name) or COLD_NAME.search(name)) or not all(
            self._in_cadence(path, call, index, ("cadence", "debug")) for call in shown
        )

    def _moves(self, path: str, index: int) -> bool:
        return any(last_part(call.callee) in ("to", "cuda") for call in self.calls.directly_in(path, index))

    def _plays(self, path: str, index: int) -> bool:
        """Whether each turn steps an environment, with what a function chooses that runs without gradients.

        Not to judge an agent, or to show it to people: that is done once in a while.
        """
        outline, calls = self.index.outlines[path], self.calls.directly_in(path, index)
        if not any(ENV_STEP.search(call.callee) for call in calls):
            return False
        if _JUDGES.search(outline.functions[outline.regions[index].function].name):
            return False
        if any(last_part(call.callee) == "render" for call in calls):
            return False
        targets = (t for call in calls for t in self.types.targets(path, call.function, call.callee))
        return any(self.without_grad.function(target) for target in targets)

    def _decodes_by_name(self, path: str, function: int) -> bool:
        """Whether a function, or its class, is one that decodes: `no_grad` may stand where nobody can follow."""
        return bool(_DECODES.search(self.index.outlines[path].functions[function].qualname))

    def _runs_once(self, path: str, function: int) -> bool:
        """Whether what a function gives is kept, as `cached_property` keeps it."""
        return any(last_part(d).startswith(_KEPT) for d in self.index.outlines[path].functions[function].decorators)
