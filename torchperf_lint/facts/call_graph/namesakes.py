"""Methods that few classes of the project have: what a call on an unknown object most likely runs.

`self.flow.energy_score(z)` in a class that was handed `flow` says nothing of its class; where one or two classes
define `energy_score`, theirs is what runs. Names of one word, and those that libraries use too, tell nothing, unless
the object is called as those classes of the project are that have the method: `self.assigner.assign(boxes)` and
`MaxIoUAssigner`.
"""

from __future__ import annotations

from functools import cached_property

from torchperf_lint.facts.call_graph.implementations import is_left_open
from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.call_graph.types import Types
from torchperf_lint.facts.outlines.records import Call
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.patterns import pattern

_OF_SEVERAL_WORDS = pattern(r"^_?[a-z0-9]+(?:_[a-z0-9]+)+$")
_TENSORS = (
    r"^(?:index|masked|clip|bitwise|logical|clamp|broadcast|diagonal|scatter|select|slice|sparse|unsafe|repeat|storage|float|matrix)_"
    r"|_as$|^(?:count_nonzero|extra_repr|nan_to_num|not_equal|pin_memory|record_stream|share_memory|tensor_split)$"
    r"|^(?:split_with_sizes|take_along_dim|triangular_solve|unique_consecutive|data_ptr|grad_fn|sum_to_size)$|_grad_?$"
)
_OF_TENSORS = pattern(_TENSORS)
_LIBRARIES = pattern(
    rf"{_TENSORS}|^(?:get|set|is|has|to|from|as|add|load|save|read|write|new|on|log|named|zero|register)_"
    r"|_dict$|_parameters?$|_like$|_prob$|^(?:batch|convert|apply|clear|update|create)_\w+$"
)
"""How methods of torch, of tokenizers, loggers and their like are called as well."""
_ANY = frozenset({"torch.nn.Module()", "torch.distributions.Distribution()"})
"""What annotations say of objects whose class is one of many."""
_KEPT = pattern(r"\(\)\.\w+$")
"""An attribute that a base class of a library may hold: `self.base_dist` of a `TransformedDistribution`."""
_COPIES = ("copy.deepcopy()", "copy.copy()")
"""What is copied is of the same class, and so is all that comes of it: `copy.deepcopy(self.model)(x)`."""
_KIND = pattern(r"(?:^|[._])(?P<kind>(?:[a-z]+_)?[a-z]{5,}er|[a-z]+_(?:coder|head|loss)|[a-z]{3,})$")
"""What an attribute that holds one of several classes is called, after what they do, or are."""
_LIBRARY_KINDS = frozenset(
    "optimizer scheduler sampler loader dataloader scaler writer logger tokenizer trainer server worker parameter "
    "layer number buffer order model module net network data dataset batch config cfg args opt options params state "
    "self cls list dict set map file path base out output outputs input inputs result results value values item "
    "items env envs environment game function func fn callback tensor array image images img mask masks box boxes "
    "loss metric metrics parser process executor pool queue session client connection thread lock timer event "
    "device dist distribution accelerator fabric engine pipe pipeline processor device_mesh stream cache memory "
    "plugin stat stats transform node graph tree table frame message response request context manager".split()
)
"""Kinds of which libraries have classes too, and words that name no kind."""
_OF_ANYTHING = (
    frozenset(dir(list))
    | frozenset(dir(dict))
    | frozenset(
        "to cuda cpu train eval half float double step zero_grad backward parameters named_parameters state_dict "
        "load_state_dict modules children apply requires_grad_ close open start stop run reset write read save load "
        "log print show plot draw add fit".split()
    )
)
"""Methods that objects of many kinds have, modules, tensors and files among them."""
_MODEL = pattern(r"(?:^|[._])(?:model|module|net|network)$")
_MANY = 12
"""Classes of one kind; more of them are no choice between a few."""
_FEW = 3
"""Classes, unrelated to each other, that may define a method."""


class Namesakes:
    """Finds the methods of a name."""

    def __init__(self, index: Index, types: Types) -> None:
        self.index = index
        self.types = types
        self._guessed: set[tuple[str, Call]] = set()
        self._of_any_model: set[tuple[str, Call]] = set()
        self._kinds: dict[tuple[str, str], list[FunctionKey]] = {}

    def of_any_model(self, path: str, call: Call) -> bool:
        """Whether a call is one of whichever model of the project: `module.inference(x)`."""
        return (path, call) in self._of_any_model

    def guessed(self, path: str, call: Call) -> bool:
        """Whether a call was only found by what its object is called: it may be one of another object's method."""
        return (path, call) in self._guessed

    def targets(self, path: str, call: Call) -> list[FunctionKey]:
        """What a method call runs by its name alone; empty where the object is known, or the name common."""
        name = last_part(call.callee)
        if not self.index.defining(name):
            return []
        own = self.index.class_of(path, call.function) if call.callee == f"self.{name}" else None
        if own is not None:
            return self._in_subclasses(own, name)
        receiver = call.callee[: -len(name) - 1]
        if not call.callee.endswith(f".{name}") or receiver.endswith(")"):
            return []
        found = self._few.get(name, ()) or self._handed_down(path, call, name)
        if not found:
            found = self._of_models(receiver, name)
            if found:
                self._of_any_model.add((path, call))
            found = found or self._of_kind(receiver, name)
            if found:
                self._guessed.add((path, call))
        if not found:
            return []
        known = self.types.things(path, call.function, receiver)
        if not all(t.dotted in _ANY or _KEPT.search(t.dotted) or t.dotted.startswith(_COPIES) for t in known):
            return []
        return [override for key in found for override in self.index.overrides(key)]

    def _handed_down(self, path: str, call: Call, name: str) -> list[FunctionKey]:
        """What a method hands on to its parts: `for part in self.parts: part.batch_ended(phase)` in `batch_ended`."""
        own = FunctionKey(path, call.function)
        around = self.index.function(own)
        if around.name != name or around.class_index < 0 or not _OF_SEVERAL_WORDS.match(name):
            return []
        others = [key for key in self._defined.get(name, ()) if key != own]
        return others if len(others) <= _FEW else []

    def _of_models(self, receiver: str, name: str) -> list[FunctionKey]:
        """`module.inference(x)`: where only one base of modules in the project leaves `inference` to its subclasses."""
        found = self._left_to_modules.get(name, ())
        return list(found) if len(found) == 1 and _MODEL.search(receiver) else []

    @cached_property
    def _left_to_modules(self) -> dict[str, list[FunctionKey]]:
        """Method name -> the abstract methods of that name in classes of modules."""
        found: dict[str, list[FunctionKey]] = {}
        for path, outline in self.index.outlines.items():
            for number, cls in enumerate(outline.classes):
                own = Thing("class", path, number)
                keys = [FunctionKey(path, m) for n, m in cls.methods.items() if not n.startswith("__")]
                left = [key for key in keys if is_left_open(self.index, key) and not self._overrides_one(key)]
                for key in left if left and self.types.is_module_class(own) else ():
                    found.setdefault(self.index.function(key).name, []).append(key)
        return found

    def _of_kind(self, receiver: str, name: str) -> list[FunctionKey]:
        """`self.bbox_coder.encode(x)`: the methods of that name in the classes that are called after the attribute."""
        match = _KIND.search(receiver) if name in self._by_kind else None
        if match is None or match["kind"] in _LIBRARY_KINDS or name in _OF_ANYTHING or _OF_TENSORS.search(name):
            return []
        kind = match["kind"].replace("_", "")
        if (kind, name) not in self._kinds:
            found = [key for names, key in self._by_kind[name] if any(_ends_with(n, kind) for n in names)]
            self._kinds[kind, name] = found if len(found) <= _MANY else []
        return self._kinds[kind, name]

    @cached_property
    def _by_kind(self) -> dict[str, list[tuple[tuple[str, ...], FunctionKey]]]:
        """Method name -> (the names of the class and its bases, where it is defined)."""
        defined: dict[str, list[tuple[tuple[str, ...], FunctionKey]]] = {}
        for path, outline in self.index.outlines.items():
            for index, cls in enumerate(outline.classes):
                names = self.index.class_names(Thing("class", path, index))
                for name, method in cls.methods.items():
                    if not name.startswith("_"):
                        defined.setdefault(name, []).append((names, FunctionKey(path, method)))
        return defined

    def _in_subclasses(self, own: Thing, name: str) -> list[FunctionKey]:
        """`self.compute(x)` of a base class that leaves `compute` to its subclasses."""
        below = self.index.subclasses.get((own.path, own.index), ())
        methods = ((cls.path, self.index.record(cls).methods.get(name)) for cls in below)
        return [FunctionKey(path, method) for path, method in methods if method is not None]

    @cached_property
    def _few(self) -> dict[str, list[FunctionKey]]:
        """Method name -> where it is defined, if in few places and no library is known to have one of the name."""
        return {name: keys for name, keys in self._defined.items() if len(keys) <= _FEW and not _LIBRARIES.search(name)}

    @cached_property
    def _defined(self) -> dict[str, list[FunctionKey]]:
        """Method name of several words -> where it is defined; overrides do not count."""
        defined: dict[str, list[FunctionKey]] = {}
        for path, outline in self.index.outlines.items():
            for cls in outline.classes:
                for name, method in cls.methods.items():
                    if _OF_SEVERAL_WORDS.match(name):
                        defined.setdefault(name, []).append(FunctionKey(path, method))
        return {name: [key for key in keys if not self._overrides_one(key)] for name, keys in defined.items()}

    def _overrides_one(self, key: FunctionKey) -> bool:
        function = self.index.function(key)
        own = Thing("class", key.path, function.class_index)
        bases = (base for base in self.index.ancestry(own) if base.kind == "class" and base != own)
        return any(function.name in self.index.record(base).methods for base in bases)


def _ends_with(cls: str, kind: str) -> bool:
    """Whether the last words of a class's name are those: `VPSDE` of `sde`, no `Keypad` of `pad`."""
    start = len(cls) - len(kind)
    return start >= 0 and cls[start:].lower() == kind and (cls[start].isupper() or start == 0 or cls[start - 1] == "_")


def may_be_of_libraries(name: str) -> bool:
    """Whether objects of libraries have methods of a name, tensors among them: `index_add`, `step`."""
    return bool(_LIBRARIES.search(name)) or name in _OF_ANYTHING | api.PLAIN_METHODS | api.TENSOR_ONLY_METHODS
