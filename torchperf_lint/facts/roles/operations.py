"""Functions of tensors that a library offers: nothing in the project calls them; who uses them does so in every step.

Annotations tell of some. Others ask a tensor for its device, as only code that makes tensors beside a given one does:
`def rotate(points, angle): m = torch.zeros(3, 3).to(points.device)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property, lru_cache

from torchperf_lint.facts.call_graph.index import FunctionKey, Index, Thing
from torchperf_lint.facts.outlines.documented import GIVEN_BACK
from torchperf_lint.facts.outlines.records import Call, Function
from torchperf_lint.facts.roles.meters import goes_through_loaders, is_meter
from torchperf_lint.facts.roles.role import EVERY_CALL, EVERY_PASS, Role
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import last_part
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_OPERATION = Role(
    "forward",
    "takes tensors and gives a tensor back, and no call of it is seen in the project: who uses it does so in "
    "every step",
    EVERY_CALL,
    Confidence.LIKELY,
)
_PART = _OPERATION._replace(
    because="is a method of a module that takes a tensor and gives one back, and no call of it is seen in the "
    "project: the passes of its base class do",
    when=EVERY_PASS,
)
_DOCUMENTED = _OPERATION._replace(
    because="takes a tensor and gives one back, as its docstring says, and no call of it is seen in the project: who "
    "uses it does so in every step"
)
_ANSWER = _OPERATION._replace(
    because="is a method of a module that takes tensors and gives a list, and no call of it is seen in the project: "
    "who uses the module does so for every batch"
)
PLAIN_BASES = ("object", "abc.", "typing.", "torch.distributions.")
"""Bases that say no more of how often a method is called than the class does."""
_MODULES = pattern(r"(?:^|\.)(?:BaseModule|ModelMixin|PreTrainedModel)$")
"""Modules of other libraries, by the class that all of theirs derive from: that knows no operation of those."""
_TENSOR = pattern(
    r"\b(?:[A-Z]\w*)?Tensor(?:Type|Like)?\b|^(?:float|int|bool)\[|^(?:(?:torch\.)?autograd\.)?Variable$"
)
"""Annotations of tensors; Python's own numbers have no brackets, but for those that name axes: `float["b n d"]`."""
_LISTS = pattern(r"^(?:typing\.)?(?:[Ll]ist|[Tt]uple|Sequence)\[")
"""Annotations of what holds an answer for each sample."""
_GOES_THROUGH = pattern(r"^(?:\w+_)?(?:batch_size|chunk_size)$|^(?:show_)?progress(?:_bar)?$|^verbose$")
"""Parameters of what goes through a whole set of its own, piece by piece."""
_CALLED_ONCE = pattern(
    r"^(?:main|fit|train|evaluate|optimi[sz]e|minimi[sz]e|search|solve|tune|run|load|read|save|write|show|plot|draw|visuali[sz]e|export|convert|compile|quantize|"
    r"dequantize|generate|initiali[sz]e|init|make|create|build|prepare|preprocess|resize_pos)(?:_|$)|"
    r"_to_(?:pil|image|images|numpy|video)$|checkpoint|state_dict|weights?_(?:init|convert)|_init_?$|gather|all_reduce|broadcast"
)
"""Functions that are called once, or for a result that leaves the program."""
_OF_TENSORS = api.TENSOR_ONLY_METHODS - frozenset(
    "detach detach_ backward requires_grad_ register_hook copy_ zero_ cuda half numel is_cuda view".split()
)
"""Methods of tensors that compute something, and that no array, list or network has."""
_QUANTIZES = pattern(r"quanti[sz]", re.IGNORECASE)
"""What is done to weights once, before they are used."""
_REGISTERS = pattern(r"(?:^|[._])(?:register\w*|dispatch|overload|implements\w*)(?:\(\))?$", re.IGNORECASE)
_REFERENCE = pattern(r"(?:^|_)(?:ref|reference|torch_impl)(?:_|$)")
"""Plain versions that kernels are compared with."""
_MEASURES = pattern(r"(?:^|/)\w*(?:metric|eval)\w*(?:/|\.py$)")
ON_ITEMS = pattern(r"(?:^|/)(?:\w+_)?(?:transforms?|augmentations?|datasets?)(?:/|\.py$)")
_TRANSFORM = pattern(r"Transforms?$|Augment(?:ation|er)?s?$")
"""Files and classes of what is done to the items of a data set, on the host; modules that do it to batches are hot
as modules are."""
_WHOLE_SET = pattern(
    r"^(?:test|val|valid|eval|gallery)_(?:\w+_)?(?:features?|feats?|labels?|targets?|data|images|y|x)$"
)
"""Names of all that an evaluation is made of, which is computed once."""
_WHOLE_NETWORK = pattern(
    r"(?:^|_)(?:model|net|network|module|layer|unet|vae|pipe|pipeline|predictor|generator|denoiser|encoder|decoder|backbone|"
    r"policy|agent|actor|critic|trainer|accelerator|tokenizer|loader|dataset|path|file|filename|args|cfg|config|opt|"
    r"sampler|scheduler|optimizer|engine|runner|state_dict|checkpoint)s?\d*$",
    re.IGNORECASE,
)
"""Parameters of functions that run a whole network, or set something up: once for each input at most."""
_ONE_RUN = pattern(
    r"(?:^|_)(?:main|demo|test|tests|bench|benchmark|check|verify|samples?|sampling|generate|inference|infer|predict|"
    r"evaluate|evaluation|eval|set|setup|register|parse|download|fit|optimize|inversion|invert|calibrate|count|stats|"
    r"metrics?|print|log|dump|info|repr|grid_to_image|video|images?)(?:_|$)",
    re.IGNORECASE,
)
"""Functions that make, show or judge a result, by their name."""

_RUNS = pattern(
    r"(?:Trainer|Agent|Runner|Pipeline|Engine|Learner|Solver|Manager|Algorithm|Model|Module|Sampler|Buffer|Storage|Dataset|"
    r"Loader|Memory|Env|PPO|SAC|DQN)\w*\.|\.(?:update|learn|train|optimi[sz]e|act|select_action|rollout|collect)\w*$"
)
"""Methods that run a part of the program, and classes of which one object does."""


def annotated_operation(index: Index, key: FunctionKey) -> Role | None:
    """The role of a function that is annotated to take tensors and to give some back, or None.

    Only for what nothing in the project calls.
    """
    function = index.function(key)
    if function.parent > 0 or no_operation(key, function):
        return None
    if function.class_index >= 0:
        cls = Thing("class", key.path, function.class_index)
        if _is_inherited(index, cls, function) or (is_meter(index, cls) and goes_through_loaders(index, cls)):
            return None
    own = function.bound
    if function.class_index < 0 and any(_GOES_THROUGH.search(p.name) for p in function.parameters):
        return None
    takes = [p.annotation for p in function.parameters[own : own + 2]]
    return _OPERATION if any(map(_of_tensors, takes)) and _of_tensors(function.gives) else None


def part_of_a_pass(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method that a module's base, which nobody here can read, calls in its passes, or None.

    `VisionTransformer._pos_embed(self, x: Tensor) -> Tensor` of timm, which a class of the project overrides.
    """
    function = index.function(key)
    bases = index.external_bases(Thing("class", key.path, function.class_index))
    if no_operation(key, function) or all(map(_says_nothing, bases)):
        return None
    takes = [p.annotation for p in function.parameters[function.bound : function.bound + 1]]
    return _PART if any(map(_of_tensors, takes)) and _of_tensors(function.gives) else None


def answer_of_a_module(index: Index, key: FunctionKey) -> Role | None:
    """The role of a method of a module that makes a list of nothing but tensors, or None.

    `CRF.decode(self, emissions: Tensor, mask: Tensor | None = None) -> List[List[int]]`. Only for what nothing in the
    project calls.
    """
    function = index.function(key)
    if function.name.startswith("_") or _ONE_RUN.search(function.name) or no_operation(key, function):
        return None
    cls, own = Thing("class", key.path, function.class_index), function.parameters[function.bound :]
    given = [p.annotation for p in own if not p.default or _of_tensors(p.annotation)]
    if not given or not all(map(_of_tensors, given)) or not _LISTS.match(function.gives):
        return None
    return _ANSWER if not _is_inherited(index, cls, function) else None


_NUMBER = pattern(
    r"(?:^|\.)(?:item|tolist|numpy|detach\(\)\.cpu|float|int|len|bool|str|list|dict|set|isinstance|is_\w+|format|join)\(\)$|"
    r"^(?:None|True|False|self)$"
)
"""Values that are no tensors, as chains."""
_READ = pattern(r"(?:^|\.)(?:item|float|int)\(\)$")
_TENSORS = ("Tensor", "TensorType", "TensorLike")
_BRINGS_BACK = pattern(r"^(?:torch|th)\.(?:tensor|as_tensor|from_numpy|\w*Tensor)\(\)\.(?:\w+\(\)\.)?(?:to|cuda)$")


class Operations:
    """Which functions are operations on tensors, by what they ask of their parameters."""

    def __init__(self, index: Index) -> None:
        self.index = index

    def role(self, key: FunctionKey) -> Role | None:
        """The role of a function that nothing in the project calls, or None."""
        if self._gives_numbers(key):
            return None  # a number is the result of the whole
        name = self._tensor_asked(key) if key in self._asked and self._may_be_one(key) else None
        if name is None and self._is_documented(key) and self._may_be_one(key):
            return _DOCUMENTED
        if name is None:
            return self._computed(key)
        because = (
            f"is an operation on tensors, as it {self._asking(key, name)}, and "
            "no call of it is seen in the project: who uses it does so in every step"
        )
        return Role("forward", because, EVERY_CALL, Confidence.LIKELY)

    def _computed(self, key: FunctionKey) -> Role | None:
        """The role of a function that computes what it gives back of a parameter that only a tensor can be."""
        how = self._operand_of(key) if self.index.function(key).class_index < 0 else None
        if how is None or key not in self._gives or not self._may_be_one(key) or self._leaves(key):
            return None
        function = self.index.function(key)
        if (function.gives and "Tensor" not in function.gives) or _RUNS.search(function.qualname):
            return None
        if _QUANTIZES.search(function.name):
            return None
        because = f"computes with tensors, `{how.callee}` (line {how.line}), and no call of it is seen in the project: "
        return Role("forward", because + "who uses it does so in every step", EVERY_CALL, Confidence.LIKELY)

    def _operand_of(self, key: FunctionKey) -> Call | None:
        """The first operation that takes a parameter of a function for a tensor."""
        own = self.index.function(key).parameters[self.index.function(key).bound :]
        names = {p.name for p in own if not p.annotation or _of_tensors(p.annotation)}
        return next((call for name, call in self._operands.get(key, ()) if name in names), None)

    @cached_property
    def _operands(self) -> dict[FunctionKey, list[tuple[str, Call]]]:
        """Function -> the names that operations of torch take first, in the order of the lines."""
        found: dict[FunctionKey, list[tuple[str, Call]]] = {}
        parts = ((callee, callee.partition(".")) for callee in self.index.callees)
        taken = {callee: name for callee, (name, _, method) in parts if method in _OF_TENSORS}
        for path, outline in self.index.outlines.items():
            for m in outline.mentions:
                if m.kind == "operand":
                    call = Call(m.of, m.line, 0, m.region, m.function)
                    found.setdefault(FunctionKey(path, m.function), []).append((m.chain, call))
            for call in outline.calls:
                if call.callee in taken and call.function:
                    found.setdefault(FunctionKey(path, call.function), []).append((taken[call.callee], call))
        return {key: sorted(calls, key=lambda pair: pair[1].line) for key, calls in found.items()}

    def _gives_numbers(self, key: FunctionKey) -> bool:
        """Whether all that a function gives back are numbers that it has read: `return ratio.item()`."""
        if key in self._gives:
            return False
        returns = self.index.outlines[key.path].returns
        return any(function == key.index and _READ.search(value) for function, value in returns)

    @cached_property
    def _gives(self) -> set[FunctionKey]:
        """Functions that give back what may be a tensor."""
        found: set[FunctionKey] = set()
        for path, outline in self.index.outlines.items():
            found.update(FunctionKey(path, m.function) for m in outline.mentions if m.kind == "gives")
            found.update(FunctionKey(path, f) for f, value in outline.returns if not _NUMBER.search(value))
        return found

    def _is_documented(self, key: FunctionKey) -> bool:
        """Whether a docstring says that a function takes a tensor first and gives one back."""
        function, told = self.index.function(key), self._documented.get(key, ())
        first = function.parameters[function.bound : function.bound + 2]
        return GIVEN_BACK in told and any(p.name in told for p in first) and not self._leaves(key)

    @cached_property
    def _documented(self) -> dict[FunctionKey, set[str]]:
        found: dict[FunctionKey, set[str]] = {}
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind == "documented":
                    found.setdefault(FunctionKey(path, mention.function), set()).add(mention.chain)
        return found

    def role_by_part(self, key: FunctionKey, parts: Iterable[FunctionKey]) -> Role | None:
        """The role of what nothing in the project calls, and that leaves the work to its class or its file."""
        function = self.index.function(key)
        if not self._may_be_one(key) or _RUNS.search(function.qualname):
            return None
        if function.gives and "Tensor" not in function.gives:
            return None  # a number is the result of the whole
        for part in parts:
            helper = self.index.function(part)
            own = part.path == key.path and helper.class_index == function.class_index and part != key
            # Of functions only those that are for this file alone: others are operations themselves.
            own = own and (function.class_index >= 0 or (helper.name.startswith("_") and helper.parent == 0))
            name = self._tensor_asked(part) if own else None
            if name is not None:
                because = (
                    f"is an operation on tensors: it calls `{self.index.function(part).name}`, which "
                    f"{self._asking(part, name)}, and no call of it is seen in the project: who uses it "
                    "does so in every step"
                )
                return Role("forward", because, EVERY_CALL, Confidence.LIKELY)
        return None

    def _may_be_one(self, key: FunctionKey) -> bool:
        """Whether nothing about a function says that it runs a whole network, or once."""
        function = self.index.function(key)
        if function.parent > 0 or _is_private(function) or _ONE_RUN.search(function.name):
            return False
        if no_operation(key, function) or self._belongs_elsewhere(key, function):
            return False
        own = function.parameters[function.bound :]
        if any(_GOES_THROUGH.search(p.name) for p in own) and function.class_index < 0:
            return False
        return bool(own) and not any(_WHOLE_NETWORK.search(p.name) or _WHOLE_SET.search(p.name) for p in own)

    def _tensor_asked(self, key: FunctionKey) -> str | None:
        """What a function asks for its device, and which may be a tensor."""
        function, imports = self.index.function(key), self.index.outlines[key.path].imports
        asked = self._asked.get(key, {})
        if all(kind == "beside" for kind, _ in asked.values()) and self._leaves(key):
            return None
        return next((n for n in asked if n not in imports and self._is_a_tensor(n, function)), None)

    def _leaves(self, key: FunctionKey) -> bool:
        """Whether what a function makes is for people or files, or of samples, which augmentations get on the host.

        Not of what it takes to the host and brings back: `torch.tensor(rows).to(device)`.
        """
        if ON_ITEMS.search(key.path):
            return True
        called = [call.callee for call in self.index.calls_in(key)]
        leaves = any(callee.endswith((".cpu", ".numpy")) for callee in called)
        return leaves and not any(map(_BRINGS_BACK.search, called))

    def _is_a_tensor(self, name: str, function: Function) -> bool:
        """Whether a name that is asked for its device may be a tensor: a parameter, or what is computed of one."""
        parameter = next((p for p in function.parameters if p.name == name), None)
        own = parameter is not None and function.bound and parameter is function.parameters[0]
        told = [p.annotation for p in (function.parameters[function.bound :] if parameter is None else [parameter])]
        given = any(a.endswith(_TENSORS) or _TENSOR.match(a) for a in told) or not any(told)
        return given and not own and not _WHOLE_NETWORK.search(name)

    def _belongs_elsewhere(self, key: FunctionKey, function: Function) -> bool:
        """Whether a method is one of a base class, or of a class that another class knows how often to call."""
        if function.class_index < 0:
            return False
        return _is_inherited(self.index, Thing("class", key.path, function.class_index), function)

    def _asking(self, key: FunctionKey, name: str) -> str:
        """How a function asks a tensor where it is, in words."""
        kind, line = self._asked[key][name]
        return (
            f"asks `{name}` for its device (line {line})"
            if kind == "device"
            else f"makes tensors on the device of `{name}` (line {line})"
        )

    @cached_property
    def _asked(self) -> dict[FunctionKey, dict[str, tuple[str, int]]]:
        """Function -> the names that it asks for their device, or makes tensors beside, with the first line of each."""
        found: dict[FunctionKey, dict[str, tuple[str, int]]] = {}
        for path, outline in self.index.outlines.items():
            for mention in outline.mentions:
                if mention.kind in ("device", "beside") and mention.function > 0:
                    asked = found.setdefault(FunctionKey(path, mention.function), {})
                    asked.setdefault(mention.chain, (mention.kind, mention.line))
        return found


def measures(path: str) -> bool:
    """Whether a file holds what is computed of a whole evaluation, or of the results of one, by its place.

    The name of a whole package says nothing of a file deep in it: `pytorch_metric_learning/utils/distances.py`.
    """
    return bool(_MEASURES.search(path.partition("/")[2] if path.count("/") > 1 else path))


def _is_private(function: Function) -> bool:
    """Whether a function is for whoever defines it, a base class as well: its calls cannot be missing."""
    return function.name.startswith("__" if function.class_index < 0 else "_")


def runs_once(name: str) -> bool:
    """Whether a function is called once, or makes, shows or judges a result, by its name."""
    return bool(_CALLED_ONCE.search(name) or _ONE_RUN.search(name))


def no_operation(key: FunctionKey, function: Function) -> bool:
    """Whether a function is called once, or for a result that leaves the program, by its name or its file's."""
    if function.decorators and any(_REGISTERS.search(decorator) for decorator in function.decorators):
        return True  # who dispatches to it knows how often
    return _is_for_once(function.name) or _holds_no_operations(key.path) or _of_items(key, function)


@lru_cache(1 << 14)
def _is_for_once(name: str) -> bool:
    return bool(_REFERENCE.search(name) or _CALLED_ONCE.search(name))


@lru_cache(1 << 14)
def _holds_no_operations(path: str) -> bool:
    return bool(_REFERENCE.search(path.rpartition("/")[2].removesuffix(".py"))) or measures(path)


def _of_items(key: FunctionKey, function: Function) -> bool:
    """Whether a method is what a data set calls for each item, in its workers: `transforms.ColorJitter.__call__`."""
    called = function.class_index >= 0 and function.name == "__call__"
    return called and bool(ON_ITEMS.search(key.path) or _TRANSFORM.search(function.qualname.partition(".")[0]))


def _is_inherited(index: Index, cls: Thing, function: Function) -> bool:
    """Whether a base class has the method too: that class, or who knows it, calls the method."""
    bases = [base for base in index.ancestry(cls) if base != cls]
    own = [base for base in bases if base.kind == "class"]
    others = index.external_bases(cls)
    return any(function.name in index.record(base).methods for base in own) or any(
        not base.startswith((*PLAIN_BASES, "torch.nn.")) and (own or not _MODULES.search(base)) for base in others
    )


def _says_nothing(base: str) -> bool:
    """Whether a base class adds no passes: torch's own, and mixins, as a scheduler of diffusers has them."""
    mixin = last_part(base).endswith("Mixin") and not _MODULES.search(base)
    return mixin or base.startswith((*PLAIN_BASES, "torch.nn."))


def _of_tensors(annotation: str) -> bool:
    return bool(_TENSOR.search(annotation))
