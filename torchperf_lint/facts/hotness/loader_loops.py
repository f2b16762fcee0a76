"""Loops over loaders, and over batches whatever hands them out: do they train or evaluate?"""

from __future__ import annotations

import builtins
import re
from functools import cached_property

from torchperf_lint.facts.call_graph.direct_calls import DirectCalls
from torchperf_lint.facts.call_graph.index import Index, Thing
from torchperf_lint.facts.call_graph.module_calls import MODEL_NAME
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.hotness.loop import EVERY_BATCH, EVERY_EVALUATION, EVERY_STEP, Loop
from torchperf_lint.facts.hotness.without_grad import WithoutGrad
from torchperf_lint.facts.outlines.records import Call, Position, Region
from torchperf_lint.facts.outlines.signatures import IN_BATCHES, LOADER_NAME
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_EVALUATION_NAME = pattern(
    r"(?:^|_)(?:val|vali|valid|validate|validation|eval|evaluate|evaluation|test|testing|predict|prediction|infer|inference|"
    r"extract|encode|embed|generate|sample|score)(?:_|$)|(?:^|_)(?:val|valid|test|eval)(?:data)?loader(?:_|$)",
    re.IGNORECASE,
)
_TRAINING_NAME = pattern(
    r"(?:^|_)(?:train|training|trainer|fit|epoch|learn|finetune|pretrain|optimi[sz]e)(?:_|$)|^train|(?<!re)Train(?:er|ing)|Learner",
)
_TRAINING_CALL = pattern(r"^(?:zero_grad|clip_grad_(?:norm|value)_)$|(?:^|_)(?:train|optimi[sz]e|learn|fit)(?:_|$)")
_LOSS = pattern(r"(?:^|_)loss(?:es)?(?:_|$)")
_TRAINS = pattern(r"\w\.(?:train|learn|optimi[sz]e|fit)(?:_(?:on_)?(?:step|batch|op))?\(\)")
_OF_A_LOADER = pattern(r"\(\)\.(?:dataset|sampler|batch_sampler|generator|collate_fn)\b")
"""What a loader has: going over its data set takes single samples, or the parts of it."""
_LOADERS = (
    "torch.utils.data.DataLoader()",
    "torch_geometric.loader.DataLoader()",
    "torch_geometric.data.DataLoader()",
    "torchdata.stateful_dataloader.StatefulDataLoader()",
    "webdataset.WebLoader()",
    "accelerate.Accelerator().prepare()",
    "lightning.Fabric().setup_dataloaders()",
)
_BATCH_TARGET = pattern(
    r"for \(?(?:\w+, )?\(?(batch|mini_?batch|(?:train|val|test|eval)_batch|batch(?:ed)?_data|data_batch)"
    r"(?:, \w+)?\)* in "
)
_OF_A_BATCH = pattern(r"^self\.\w*_batch(?:_\w+)?$")
"""`self._full_sort_batch_eval(batched_data)`."""
_MAKES_BATCHES = pattern(
    r"(?:^|[._])(?:mini_?)?batch(?:es)?_(?:ite?r|iterator|gen|generator)\w*(?:\(\))?$|(?:^|[._])batchify\(\)$"
)
"""`for (points,) in batch_iterator(64, points): self._process_batch(points)`."""
_STEP_CALL = pattern(
    r"(?:^|[._])(?:step|(?:do|run|train(?:ing)?|eval|validation|test|infer|forward)_(?:step|batch))(?:_fn|_func)?$"
    r"|(?:^|[._])(?:step|eval|batch|predict|forward)_(?:fn|func|function)$|(?:^|[._])(?:run|train|forward)_iter$|(?:^|[._])batch_processor$"
    r"|(?:^|[._])(?:process|handle)_(?:one_)?batch$"
)
_ON_DEVICE = {"to", "cuda", "type"}
_OTHER_MODEL = pattern(
    r"(?:^|\.)(?:\w+_)?(?:classifier|encoder|backbone|detector|extractor|critic|student|teacher)\d*$"
)
_HEAD = pattern(r"(?:async )?for (.+?) in ")
_WORD = pattern(r"\w+")
_OF_PARTS = pattern(
    r"\.(?:items|values|keys|parameters|buffers|modules|children|named_\w+)\(|param|tensors|state_dict|weights"
)
"""What loops go over that move a model, or the parts of one batch."""
_HANDED_OUT = pattern(r"\.(?:get_)?(?:iterator|iter|batches)\(\)$")
"""`loaders["val"].get_iterator()`, of classes that hand out batches by a method."""
_KEY = pattern(r"\[([A-Za-z_]\w*)\]$")
_NO_BATCH = pattern(r"^(?:name|key)$|(?:^|, )\w*loaders?$")
"""What a loop takes that goes over loaders, or over the names of some; a data set may give names beside its samples."""
_RUNS = pattern(r"(?:self\.)?\w+$")
_BUILTINS = frozenset(dir(builtins))


def _names(iterable: str) -> list[str]:
    """What the name of a loader, and the key it is kept under, say: `val` of `loaders[val].get_iterator()`."""
    loader = _HANDED_OUT.sub("", iterable)
    return [last_part(iterable), last_part(loader), *_KEY.findall(loader)]


def is_plural(chain: str) -> bool:
    """Whether a chain names several loaders: `for loader in loaders` gets no batch."""
    return chain.endswith(("loaders", "dls"))


def _is_several(iterable: str) -> bool:
    """Whether a chain, or the key at its end, names several loaders: `sets[test_loaders]`, and not `loaders[val]`."""
    return is_plural(iterable) or any(map(is_plural, _KEY.findall(_HANDED_OUT.sub("", iterable))))


def _takes_no_batches(region: Region) -> bool:
    """Whether a loop names what it takes a loader, or a name: `for loader in cfg["loader"]`."""
    head = _HEAD.match(region.detail)
    return head is not None and _NO_BATCH.search(head.group(1)) is not None

_COMPUTES = frozenset({"backward", "to", "cuda"})
"""What is called where a device computes."""


class LoaderLoops:
    """Answers for one project."""

    def __init__(self, index: Index, types: Types, calls: DirectCalls, without_grad: WithoutGrad) -> None:
        self.index = index
        self.types = types
        self.calls = calls
        self.without_grad = without_grad
        self._driving: dict[str, bool] = {}

    def over_loader(self, path: str, index: int) -> Loop | None:
        """A loop over what is, or is called, a loader, or that hands each batch to a step function."""
        if path not in self._driving:
            self._driving[path] = self._drives_others(path)
        if self._driving[path]:
            return None
        region = self.index.outlines[path].regions[index]
        named = self.loader_evidence(path, region.function, region.iterable)
        if named is not None and named[1] is not Confidence.CERTAIN and _takes_no_batches(region):
            return None
        evidence = named or self._batch_evidence(path, index)
        if evidence is None:
            return None
        because, confidence = evidence
        calls = self.calls.directly_in(path, index)
        steps = any(last_part(c.callee) in _ON_DEVICE or _STEP_CALL.search(c.callee) for c in calls)
        steps = steps or any(
            self.without_grad.function(t) for c in calls for t in self.types.targets(path, c.function, c.callee)
        )
        steps = steps or (bool(calls) and self._runs_without_grad(path, index))
        if named is not None and confidence is not Confidence.CERTAIN and not steps:
            confidence = Confidence.POSSIBLE
        if self._evaluates(path, index):
            return Loop("eval", because, confidence, region.head, EVERY_EVALUATION)
        if self._seems_to_train(path, index):
            return Loop("step", because, confidence, region.head, EVERY_STEP)
        return Loop("eval", because, confidence, region.head, EVERY_BATCH)

    def _drives_others(self, path: str) -> bool:
        """Whether a file sends each batch to Ray's workers, and computes nothing itself: its tensors are on the host.

        What a turn of such a loop waits for are the workers, which take seconds.
        """
        outline = self.index.outlines[path]
        if not any(self._is_rays(path, name) for name in outline.imports.values()):
            return False
        return not any(last_part(call.callee) in _COMPUTES for call in outline.calls)

    def _is_rays(self, path: str, name: str) -> bool:
        """Whether a name is of Ray, or of what wraps it, `package.ray.RayWorkerGroup`, and of no own `ray.py`."""
        first, *rest = name.split(".")
        if first != "ray" and not ("ray" in rest[:-1] and rest[-1].startswith("Ray")):
            return False
        if first == "ray":
            folders = {"", path.rpartition("/")[0]}
            own = {f"{folder}/{file}".lstrip("/") for folder in folders for file in ("ray.py", "ray/__init__.py")}
            return own.isdisjoint(self.index.outlines)
        module = f"/{'/'.join(name.strip('.').split('.')[:-1])}.py"
        return not any(f"/{other}".endswith(module) for other in self.index.outlines)

    def loader_evidence(self, path: str, function: int, chain: str) -> tuple[str, Confidence] | None:
        """Why a chain is a DataLoader, and how sure that is."""
        if not chain or "?" in chain:
            return None
        for thing in self.types.things(path, function, chain):
            if self.is_loader(thing):
                return f"iterates `{chain}`, a DataLoader", Confidence.CERTAIN
        if any(map(LOADER_NAME.search, _names(chain))) and not _is_several(chain):
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
        for call in self.calls.directly_in(path, index):
            of_a_batch = target is not None and evaluated and _OF_A_BATCH.search(call.callee)
            if of_a_batch or _STEP_CALL.search(call.callee) or MODEL_NAME.search(call.callee):
                because = f"hands each `{taken}` to `{call.callee}` (line {call.line})"
                return because, Confidence.LIKELY
        return None

    def over_moved(self, path: str, index: int) -> Loop | None:
        """`for x, y in anything: model(x.to(device))` without gradients, and `x = next(anything)`: a batch a turn.

        Without gradients whatever is called may be the model; elsewhere its name has to say so. With them the loop
        trains, where what is called to train gives a loss: `loss = ranker.train(x.to(device), y)`.
        """
        calls = self.calls.all_in(path, index)
        moves = [call for call in calls if last_part(call.callee) in ("to", "cuda") and "." in call.callee]
        region = self.index.outlines[path].regions[index]
        parts = _OF_PARTS.search(region.detail) or _OF_PARTS.search(region.iterable)  # a long loop's detail is cut
        if not moves or parts:
            return None
        trains = not self._evaluates(path, index) and self._takes_a_loss(path, index)
        models = trains or (self._evaluates(path, index) and self._calls_a_model(path, index, calls))
        if not models:
            return None
        taken, called = self._taken_each_turn(path, index, calls), {call.callee for call in calls}
        for move in moves:
            name = move.callee.partition(".")[0].partition("[")[0]
            if name in taken - called:
                because = f"moves each `{name}` to the device (line {move.line})"
                head = self.index.outlines[path].regions[index].head
                kind, when = ("step", EVERY_STEP) if trains else ("eval", EVERY_BATCH)
                return Loop(kind, because, Confidence.LIKELY, head, when)
        return None

    def _calls_a_model(self, path: str, index: int, calls: list[Call]) -> bool:
        called = {call.callee for call in calls}
        if any(MODEL_NAME.search(callee) or _OTHER_MODEL.search(callee) for callee in called):
            return True
        runs = any(_RUNS.match(callee) and callee not in _BUILTINS for callee in called)
        return runs and self._runs_without_grad(path, index)

    def _takes_a_loss(self, path: str, index: int) -> bool:
        """Whether each turn binds a loss to what is called to train, by their names: no mode is set by that."""
        outline, region = self.index.outlines[path], self.index.outlines[path].regions[index]
        inside = (b for b in outline.bindings if b.function == region.function and self._is_in(b.line, region))
        return any(_LOSS.search(b.target) and _TRAINS.search(b.value) for b in inside)

    def _taken_each_turn(self, path: str, index: int, calls: list[Call]) -> set[str]:
        outline = self.index.outlines[path]
        region = outline.regions[index]
        head = _HEAD.match(region.detail)
        names = set(_WORD.findall(head.group(1))) if head is not None and region.iterable != IN_BATCHES else set()
        lines = {call.line for call in calls if call.callee == "next"}
        inside = [b for b in outline.bindings if b.function == region.function and self._is_in(b.line, region)]
        names |= {b.target for b in inside if b.line in lines and b.value.startswith("next()")}
        # `img, label = data`: the parts of what is taken
        return names | {b.target for b in inside if "[" in b.value and b.value.partition("[")[0] in names}

    @staticmethod
    def _is_in(line: int, region: Region) -> bool:
        return region.start[0] <= line <= region.end[0]

    def is_loader(self, thing: Thing) -> bool:
        """Whether a thing is an instance of a DataLoader or of a class derived from one."""
        if thing.kind == "external":
            return thing.dotted.startswith(_LOADERS) and not _OF_A_LOADER.search(thing.dotted)
        if thing.kind != "instance":
            return False
        return any(f"{base}()" in _LOADERS for base in self.index.external_bases(thing))

    def _evaluates(self, path: str, index: int) -> bool:
        outline = self.index.outlines[path]
        function = outline.functions[outline.regions[index].function]
        if any(map(_EVALUATION_NAME.search, (function.name, *_names(outline.regions[index].iterable)))):
            return True
        if self._runs_without_grad(path, index):
            return True
        return self._mode_above(path, index) == "eval"

    def _mode_above(self, path: str, index: int) -> str:
        """The mode that models were put into last, above a loop in its function; the only one, wherever it is set."""
        outline = self.index.outlines[path]
        region = outline.regions[index]
        modes = self._modes_set.get((path, outline.functions[region.function].region), [])
        above = [name for at, name in modes if at < region.start]
        named = {name for _, name in modes}
        return above[-1] if above else next(iter(named)) if len(named) == 1 else ""

    def _runs_without_grad(self, path: str, index: int) -> bool:
        return self.without_grad.around(path, index) or self.without_grad.inside(path, index)

    def _seems_to_train(self, path: str, index: int) -> bool:
        """Whether a loop trains as far as names tell; the action may stand where nobody can follow."""
        outline = self.index.outlines[path]
        region = outline.regions[index]
        function = outline.functions[region.function]
        if any(map(_TRAINING_NAME.search, (function.qualname, *_names(region.iterable)))):
            return True
        if any(name == "train" for _, name in self._modes_set.get((path, function.region), ())):
            return True
        return any(_TRAINING_CALL.search(last_part(call.callee)) for call in self.calls.directly_in(path, index))

    @cached_property
    def _modes_set(self) -> dict[tuple[str, int], list[tuple[Position, str]]]:
        """(path, region of a function) -> the places of its `.eval()` and `.train()`, and which of them, in order."""
        found: dict[tuple[str, int], list[tuple[Position, str]]] = {}
        for name in ("eval", "train"):
            for path, call in self.index.calls_named.get(name, ()):
                if "." in call.callee:
                    function = self.index.outlines[path].functions[call.function]
                    found.setdefault((path, function.region), []).append(((call.line, call.column), name))
        return {key: sorted(modes) for key, modes in found.items()}
