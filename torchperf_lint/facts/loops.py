"""Which loops are step loops and which are evaluation loops.

A step loop holds a training action itself (`.backward()`, `optimizer.step()`, or a call to a function that does
one) or iterates a DataLoader. The innermost loop with the action is the step loop; loops around it are epochs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.generators import Generators
from torchperf_lint.facts.index import FunctionKey, Index, Thing
from torchperf_lint.facts.module_calls import MODEL_NAME, ModuleCalls
from torchperf_lint.facts.records import Call
from torchperf_lint.facts.replay import draws_and_trains
from torchperf_lint.facts.signatures import IN_BATCHES, LOADER_NAME
from torchperf_lint.facts.types import Types
from torchperf_lint.model import Confidence

FEW_TURNS = 8
"""A loop with a literal bound up to this many turns is not hot by itself."""
TRAINING_DEPTH = 3
_BACKWARD = {"backward", "manual_backward"}
_OPTIMIZER = re.compile(r"optim|(?:^|[._\[])opt(?:[._\[\]]|$|\d)|_opt$|scaler$|engine$", re.IGNORECASE)
_EVALUATION_NAME = re.compile(
    r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test|testing|predict|prediction|infer|inference|"
    r"extract|encode|embed|generate|sample|score)(?:_|$)",
    re.IGNORECASE,
)
_JUDGES = re.compile(r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test)(?:_|$)", re.IGNORECASE)
_TRAINING_NAME = re.compile(
    r"(?:^|_)(?:train|training|trainer|fit|epoch|learn|finetune|pretrain|optimi[sz]e)(?:_|$)|^train|(?<!re)Train(?:er|ing)|Learner",
)
_TRAINING_CALL = re.compile(r"^(?:zero_grad|clip_grad_(?:norm|value)_)$|(?:^|_)(?:train|optimi[sz]e|learn|fit)(?:_|$)")
_LOADERS = (
    "torch.utils.data.DataLoader()",
    "torch_geometric.loader.DataLoader()",
    "torch_geometric.data.DataLoader()",
    "torchdata.stateful_dataloader.StatefulDataLoader()",
    "accelerate.Accelerator().prepare()",
    "lightning.Fabric().setup_dataloaders()",
)
_OF_A_MODULE = re.compile(r"\.(?:parameters|buffers|modules|children|named_\w+)$")
"""`next(model.parameters()).device`."""
_TIMESTEPS = re.compile(r"timesteps(?:_tensor)?(?:\[\])?$", re.IGNORECASE)
_INPUTS = re.compile(
    r"(?:^|[._])(?:texts?|sentences?|sents|samples|images|imgs|inputs|prompts|chunks|paths|files|utterances|wavs|audios|"
    r"clips|frames|crops|class_?names|queries|passages|documents|docs|examples|requests)(?:\(\))?$",
    re.IGNORECASE,
)
"""What is put into a model one after the other, by its name; a decoder turns over steps, times and lengths."""
_TOKEN_BY_TOKEN = re.compile(
    r" in \w*range\(.*\b(?:max|sample|gen|generated?|dec\w*|target|tgt)_(?:\w+_)?(?:len|length|tokens|steps)\b"
)
"""A loop that runs a model up to a greatest length decodes, wherever gradients are switched off."""
_DECODES = re.compile(
    r"(?:^|[._])(?:Decoding|Generation)\w*Task\b|(?:Beam|Greedy)Search|SequenceGenerator|"
    r"(?:^|[._])(?:\w+_)?(?:beam|greedy)_(?:search|decode)(?:_\w+)?$"
)
_SCHEDULER_STEP = re.compile(r"(?:^|[._])(?<!lr_)sched(?:uler)?\.step$", re.IGNORECASE)
_BATCH_TARGET = re.compile(
    r"for \(?(?:\w+, )?\(?(batch|mini_?batch|(?:train|val|test|eval)_batch|batch(?:ed)?_data|data_batch)\)* in "
)
_OF_A_BATCH = re.compile(r"^self\.\w*_batch(?:_\w+)?$")
"""`self._full_sort_batch_eval(batched_data)`."""
_MAKES_BATCHES = re.compile(
    r"(?:^|[._])(?:mini_?)?batch(?:es)?_(?:ite?r|iterator|gen|generator)\w*(?:\(\))?$|(?:^|[._])batchify\(\)$"
)
"""`for (points,) in batch_iterator(64, points): self._process_batch(points)`."""
_STEP_CALL = re.compile(
    r"(?:^|[._])(?:step|(?:do|run|train(?:ing)?|eval|validation|test|infer|forward)_(?:step|batch))(?:_fn|_func)?$"
    r"|(?:^|[._])step_(?:fn|func|function)$|(?:^|[._])(?:run|train|forward)_iter$|(?:^|[._])batch_processor$"
    r"|(?:^|[._])(?:process|handle)_(?:one_)?batch$"
)
_ON_DEVICE = {"to", "cuda"}
_KEPT = ("cached_property", "lru_cache", "cache")
_DATA_SET = re.compile(r" in .*\b\w*data_?set(?![\w.\[(])", re.IGNORECASE)
"""`for i in range(len(dataset))`, `for sample in self.test_dataset`."""


def is_plural(chain: str) -> bool:
    """Whether a chain names several loaders: `for loader in loaders` gets no batch."""
    return chain.endswith(("loaders", "dls"))


def _turns_of_inference(iterable: str) -> tuple[str, str]:
    """What a loop without gradients that runs a model is, and when it turns: an evaluation of inputs, or a decoder."""
    if iterable == IN_BATCHES:
        return "eval", _BATCH
    return ("eval", _INPUT) if _INPUTS.search(iterable) else ("rollout", _TURN)


@dataclass(frozen=True)
class Loop:
    """A loop that makes its body hot."""

    kind: str
    """step, eval or rollout."""
    because: str
    confidence: Confidence
    line: int
    """The line of `for` or `while`, as near as the outline knows: the line above its body."""
    when: str
    """`every training step`: how often its body runs."""


_STEP = "every training step"
_EVALUATION = "every evaluation batch"
_BATCH = "every batch"
_INPUT = "with every input"
_TURN = "every turn of a decoding loop"
_DENOISING = "every denoising step"


class Loops:
    """Classifies the loops of a project on demand; answers are kept."""

    def __init__(
        self, index: Index, types: Types, without_grad: Callable[[FunctionKey], bool] = lambda _: False
    ) -> None:
        self.index = index
        self.types = types
        self._called_without_grad = without_grad
        """Whether all that calls a function does so without gradients."""
        self.generators = Generators(index, types)
        self._known: dict[tuple[str, int], Loop | None] = {}
        self._direct: dict[str, dict[int, list[Call]]] = {}
        self._trains: dict[tuple[FunctionKey, int], Call | None] = {}
        self.modules = ModuleCalls(index, types, self.calls_directly_in)

    def at(self, path: str, index: int) -> Loop | None:
        """What the loop region `index` of a file is; None for a loop that is not hot by itself."""
        key = (path, index)
        if key not in self._known:
            self._known[key] = None  # while it is being worked out: generators may draw on each other
            self._known[key] = self._classify(path, index)
        return self._known[key]

    def _classify(self, path: str, index: int) -> Loop | None:
        region = self.index.outlines[path].regions[index]
        if region.kind != "loop" or (region.turns is not None and region.turns <= FEW_TURNS):
            return None
        trained = self._training_action(path, index)
        trained = trained or self._takes_a_batch_and_trains(path, index)
        if trained:
            return Loop("step", trained, Confidence.CERTAIN, region.head, _STEP)
        return (
            self._over_loader(path, index)
            or self._denoising(path, index)
            or self._decoding(path, index)
            or self._over_data_set(path, index)
            or self._over_buffer(path, index)
            or self._handing_over(path, index)
        )

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

    def _over_data_set(self, path: str, index: int) -> Loop | None:
        """A loop over the samples of a data set that calls a function which runs without gradients: evaluation."""
        region = self.index.outlines[path].regions[index]
        if not _DATA_SET.search(region.detail):
            return None
        for call in self.calls_directly_in(path, index):
            for target in self.types.targets(path, call.function, call.callee):
                if self._runs_without_grad(target):
                    because = f"goes through a data set and calls `{call.callee}()` (line {call.line}) for each sample"
                    return Loop("eval", because, Confidence.LIKELY, region.head, "every sample that is evaluated")
        return None

    def _over_buffer(self, path: str, index: int) -> Loop | None:
        """A loop that draws a batch from a replay buffer each turn, and hands it to what trains on it by its name."""
        found = draws_and_trains(self.calls_directly_in(path, index))
        if found is None or self._targets_of(path, found[1]):
            return None  # what trains is known, and has no training action
        drawn, trained = found
        because = (
            f"draws a batch each turn, `{drawn.callee}()`, and trains on it: `{trained.callee}()` (line {trained.line})"
        )
        return Loop("step", because, Confidence.LIKELY, self.index.outlines[path].regions[index].head, _STEP)

    def _runs_without_grad(self, key: FunctionKey) -> bool:
        region = self.index.function(key).region
        decorators = self.index.function(key).decorators
        off = any(last_part(name) in ("no_grad", "inference_mode") for name in decorators)
        return off or self._grad_is_off_inside(key.path, region)

    def _denoising(self, path: str, index: int) -> Loop | None:
        """A loop over the timesteps of a diffusion scheduler that steps it each turn, wherever gradients are off."""
        region = self.index.outlines[path].regions[index]
        if not _TIMESTEPS.search(region.iterable):
            return None
        for call in self.calls_directly_in(path, index):
            if _SCHEDULER_STEP.search(call.callee):
                because = f"steps a diffusion scheduler each turn: `{call.callee}()` (line {call.line})"
                return Loop("rollout", because, Confidence.CERTAIN, region.head, _DENOISING)
        return None

    def _decoding(self, path: str, index: int) -> Loop | None:
        """A loop without gradients that calls a module each turn: decoding, sampling, a rollout."""
        region = self.index.outlines[path].regions[index]
        # A sampler that hands out what each turn gives has the `with` inside: no gradient is kept across a `yield`.
        drawn = (path, index) in self.generators.yielding or region.iterable == IN_BATCHES
        inside = drawn and self._grad_is_off_inside(path, index)
        by_name = bool(_TOKEN_BY_TOKEN.search(region.detail)) or self._decodes_by_name(path, region.function)
        without_grad = inside or by_name or self._without_grad(path, index)
        if not without_grad or self._runs_once(path, region.function):
            return None
        kind, when = _turns_of_inference(region.iterable)
        if _JUDGES.search(self.index.outlines[path].functions[region.function].name):
            kind, when = "eval", _EVALUATION
        for call in self.calls_directly_in(path, index):
            known = self.modules.is_one(path, region.function, call.callee)
            if known is not None:
                because = f"calls the module `{call.callee}` each turn (line {call.line})"
                return Loop(kind, because, Confidence.CERTAIN if known else Confidence.LIKELY, region.head, when)
        for call in self.calls_directly_in(path, index):
            inner = next(filter(None, (self.modules.run_by(t) for t in self._targets_of(path, call))), None)
            if inner is not None:
                because = f"calls `{call.callee}()` each turn (line {call.line}), which runs `{inner}()`"
                return Loop(kind, because, Confidence.LIKELY, region.head, when)
        return None

    def _decodes_by_name(self, path: str, function: int) -> bool:
        """Whether a function, or its class, is one that decodes: `no_grad` may stand where nobody can follow."""
        return bool(_DECODES.search(self.index.outlines[path].functions[function].qualname))

    def _targets_of(self, path: str, call: Call) -> Sequence[FunctionKey]:
        return self.types.targets(path, call.function, call.callee)

    def _runs_once(self, path: str, function: int) -> bool:
        """Whether what a function gives is kept, as `cached_property` keeps it."""
        return any(last_part(d).startswith(_KEPT) for d in self.index.outlines[path].functions[function].decorators)

    # -- training actions --------------------------------------------------------------------------

    def _training_action(self, path: str, index: int) -> str | None:
        for call in self.calls_directly_in(path, index):
            if self._is_action(path, call):
                return f"holds `{call.callee}()` (line {call.line})"
        for call in self.calls_directly_in(path, index):
            for target in self.types.targets(path, call.function, call.callee):
                inner = self.trains(target, TRAINING_DEPTH)
                if inner is not None:
                    return f"calls `{call.callee}()` (line {call.line}), which runs `{inner.callee}()`"
        return None

    def _takes_a_batch_and_trains(self, path: str, index: int) -> str | None:
        """A loop that takes a batch, `x = next(batches)`, and trains on it in a loop inside: a GAN, phase by phase."""
        outline, calls = self.index.outlines[path], self.calls_directly_in(path, index)
        region = outline.regions[index]
        taken = {c.line for c in calls if c.callee == "next"} - {c.line for c in calls if _OF_A_MODULE.search(c.callee)}
        bound = (b.line for b in outline.bindings if b.value.startswith("next()") and b.function == region.function)
        line = next((line for line in bound if line in taken), None)
        inside = range(index + 1, len(outline.regions)) if line is not None else ()
        for inner in inside:
            if self._loop_around(path, inner) == index and self._training_action(path, inner):
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

    def calls_directly_in(self, path: str, index: int) -> list[Call]:
        """The calls whose innermost loop is the region `index` (a function's region: calls outside loops)."""
        if path not in self._direct:
            self._direct[path] = self._by_loop(path)
        return self._direct[path].get(index, [])

    def _by_loop(self, path: str) -> dict[int, list[Call]]:
        outline = self.index.outlines[path]
        home: list[int] = []
        for index, region in enumerate(outline.regions):
            own = region.kind in ("loop", "function", "class") or region.parent < 0
            home.append(index if own else home[region.parent])
        table: dict[int, list[Call]] = {}
        for call in outline.calls:
            table.setdefault(home[call.region], []).append(call)
        return table

    def _is_action(self, path: str, call: Call) -> bool:
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

    def trains(self, key: FunctionKey, depth: int) -> Call | None:
        """The training action a function does outside loops of its own, through at most `depth` calls."""
        if (key, depth) in self._trains:
            return self._trains[key, depth]
        region = self.index.function(key).region
        calls = self.calls_directly_in(key.path, region)
        found = next((c for c in calls if self._is_action(key.path, c)), None)
        if found is None and depth > 1:
            for call in calls:
                targets = self.types.targets(key.path, call.function, call.callee)
                inner = (self.trains(target, depth - 1) for target in targets if target != key)
                found = next((c for c in inner if c is not None), None)
                if found is not None:
                    break
        self._trains[key, depth] = found
        return found

    # -- loaders -----------------------------------------------------------------------------------

    def _over_loader(self, path: str, index: int) -> Loop | None:
        region = self.index.outlines[path].regions[index]
        named = self.loader_evidence(path, region.function, region.iterable)
        evidence = named or self._batch_evidence(path, index)
        if evidence is None:
            return None
        because, confidence = evidence
        calls = self.calls_directly_in(path, index)
        steps = any(last_part(c.callee) in _ON_DEVICE or _STEP_CALL.search(c.callee) for c in calls)
        steps = steps or any(self._runs_without_grad(t) for c in calls for t in self._targets_of(path, c))
        if named is not None and confidence is not Confidence.CERTAIN and not steps:
            confidence = Confidence.POSSIBLE
        if self._evaluates(path, index):
            return Loop("eval", because, confidence, region.head, _EVALUATION)
        if self._seems_to_train(path, index):
            return Loop("step", because, confidence, region.head, _STEP)
        return Loop("eval", because, confidence, region.head, _BATCH)

    def loader_evidence(self, path: str, function: int, chain: str) -> tuple[str, Confidence] | None:
        """Why a chain is a DataLoader, and how sure that is."""
        if not chain or "?" in chain:
            return None
        for thing in self.types.things(path, function, chain):
            if self.is_loader(thing):
                return f"iterates `{chain}`, a DataLoader", Confidence.CERTAIN
        name = last_part(chain)
        if LOADER_NAME.search(name) and not is_plural(chain):
            return f"iterates `{chain}`, a DataLoader by its name", Confidence.LIKELY
        for binding in self.types.bindings(path).get((function, chain), ()):
            if binding.value.endswith("()") and LOADER_NAME.search(last_part(binding.value)):
                return f"iterates `{chain}`, a DataLoader by the name of `{binding.value}`", Confidence.LIKELY
        return None

    def _batch_evidence(self, path: str, index: int) -> tuple[str, Confidence] | None:
        """`for batch in iterator: step_fn(batch)`, whatever the iterator is called and whoever handed it in."""
        region = self.index.outlines[path].regions[index]
        target = _BATCH_TARGET.match(region.detail)
        taken = target.group(1) if target else "batch" if _MAKES_BATCHES.search(region.iterable) else ""
        evaluated = bool(taken) and self._evaluates(path, index)
        if not taken or not (evaluated or self._seems_to_train(path, index)):
            return None
        for call in self.calls_directly_in(path, index):
            of_a_batch = target is not None and evaluated and _OF_A_BATCH.search(call.callee)
            if of_a_batch or _STEP_CALL.search(call.callee) or MODEL_NAME.search(call.callee):
                because = f"hands each `{taken}` to `{call.callee}` (line {call.line})"
                return because, Confidence.LIKELY
        return None

    def is_loader(self, thing: Thing) -> bool:
        """Whether a thing is an instance of a DataLoader or of a class derived from one."""
        if thing.kind == "external":
            return thing.dotted.startswith(_LOADERS)
        if thing.kind != "instance":
            return False
        return any(f"{base}()" in _LOADERS for base in self.index.external_bases(thing))

    def _evaluates(self, path: str, index: int) -> bool:
        outline = self.index.outlines[path]
        function = outline.functions[outline.regions[index].function]
        if _EVALUATION_NAME.search(function.name) or _EVALUATION_NAME.search(
            last_part(outline.regions[index].iterable)
        ):
            return True
        if self._without_grad(path, index) or self._grad_is_off_inside(path, index):
            return True
        return self._modes_set.get((path, function.region)) == {"eval"}

    def _seems_to_train(self, path: str, index: int) -> bool:
        """Whether a loop trains as far as names tell; the action may stand where nobody can follow."""
        outline = self.index.outlines[path]
        region = outline.regions[index]
        function = outline.functions[region.function]
        if _TRAINING_NAME.search(function.qualname) or _TRAINING_NAME.search(last_part(region.iterable)):
            return True
        if "train" in self._modes_set.get((path, function.region), ()):
            return True
        return any(_TRAINING_CALL.search(last_part(call.callee)) for call in self.calls_directly_in(path, index))

    def _without_grad(self, path: str, index: int) -> bool:
        outline = self.index.outlines[path]
        function = outline.functions[outline.regions[index].function]
        if any(last_part(d) in ("no_grad", "inference_mode") for d in function.decorators):
            return True
        while index >= 0:
            if outline.regions[index].kind == "grad-off":
                return True
            if outline.regions[index].kind == "function":
                return self._called_without_grad(FunctionKey(path, outline.regions[index].function))
            index = outline.regions[index].parent
        return False

    def _grad_is_off_inside(self, path: str, index: int) -> bool:
        return any(r.kind == "grad-off" and r.parent == index for r in self.index.outlines[path].regions)

    @cached_property
    def _modes_set(self) -> dict[tuple[str, int], set[str]]:
        """(path, region of a function) -> which of `.eval()` and `.train()` it calls."""
        found: dict[tuple[str, int], set[str]] = {}
        for path, outline in self.index.outlines.items():
            modes: dict[int, set[str]] = {}
            for call in outline.calls:
                name = last_part(call.callee)
                if name in ("eval", "train") and "." in call.callee:
                    modes.setdefault(outline.functions[call.function].region, set()).add(name)
            found.update({(path, region): names for region, names in modes.items()})
        return found
