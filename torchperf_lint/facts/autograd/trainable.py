"""Modules whose parameters take gradients, as far as the code shows: they have some, and nothing freezes them."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.element_loops.plain_layers import is_plain_layer
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.patterns import pattern

_LAYERS = frozenset(
    "Linear Bilinear LazyLinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding "
    "EmbeddingBag LSTM GRU RNN LSTMCell GRUCell Transformer TransformerEncoder TransformerDecoder "
    "TransformerEncoderLayer TransformerDecoderLayer MultiheadAttention".split()
)
"""Classes of torch.nn whose parameters are worth a saving."""
_TRANSFORMS = pattern(r"^torch(?:audio|vision)\.transforms\.(?:\w+\.)*\w+\(\)$")
"""Their kernels and tables are buffers."""
_MOVED = pattern(r"(?:\.(?:to|cuda|cpu|half|float|double|eval|train|requires_grad_)\(\))+$")
"""Methods of a module that give the module itself."""
_CONTAINERS = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList"})
_LIBRARIES = pattern(
    r"^(?:torchvision\.models\.[\w.]+|timm\.create_model|timm\.models\.[\w.]*create_model|torch\.hub\.load|"
    r"transformers\.(?:Auto)?\w*Model\w*|torchvision\.models\.get_model)\(\)"
)
_SETTLES = pattern(
    r"requires_grad|freez|frozen|add_param_group|peft|(?<!exp)lora|trainable|param_groups?\b", re.IGNORECASE
)
_FREEZES = (
    (".requires_grad", pattern(r"\.requires_grad\b(?!_)(?!\s*=\s*true\b)")),
    (".requires_grad", pattern(r"\.requires_grad(?<=\bp\.requires_grad)\b")),
    (".requires_grad", pattern(r"param(?<=\bparam)\w*\.requires_grad\b")),
    ("requires_grad_", pattern(r"requires_grad_(?<!\.detach\(\)\.requires_grad_)\((?!\)|true\b)")),
    ("freez", pattern(r"freez\w*\s*[(=:]")),
    ("frozen", pattern(r"frozen\w*\s*[(=:]")),
    ("trainable", pattern(r"trainable\w*\s*[(=:]")),
    ("peft", pattern(r"peft")),
    ("lora", pattern(r"lora(?<!explora)")),
    ("set_", pattern(r"set_(?<=\bset_)(?:requires_)?grad\b")),
    ("toggle_", pattern(r"toggle_(?<=\btoggle_)(?:requires_)?grad\b")),
    ("switch_", pattern(r"switch_(?<=\bswitch_)(?:requires_)?grad\b")),
)
"""What may switch off the gradients of parameters, in small letters; a tensor that is asked for its own does not.

Each pattern begins with letters of its own, and is asked where a text has its word: one pattern for all of this takes
a hundred times as long.
"""
_ASKS = pattern(r"\.requires_grad\b(?!\s*=(?!=))")
"""`if p.requires_grad:`, as optimizers are made and parameters counted."""
_WORDS = "requires_grad freez frozen param_group peft lora trainable".split()
"""One of them is in all that `_SETTLES` finds."""
_STOPS = pattern(r"no_grad|inference_mode|detach|set_grad_enabled|stop_grad|autograd|\.data\b")
_PREPARES = pattern(r"init|reset|load|save|weight|copy|(?:^|_)ema(?:_|$)|update", re.IGNORECASE)
"""Methods that write into parameters outside of autograd, by their names; no gradient passes there anyway."""
_DEPTH = 3
_MOVES = frozenset({"to", "cuda", "train", "eval", "float", "half"})


def speaks_of_freezing(text: str) -> bool:
    """Whether a text says anything about which parameters take gradients."""
    small = text.lower()
    return any(word in small for word in _WORDS) and _SETTLES.search(text) is not None


@lru_cache(maxsize=256)
def may_freeze(text: str) -> bool:
    """Whether a text may switch off gradients of parameters: less than speaking of them, as tensors have some too."""
    small = text.lower()
    return any(word in small and way.search(small) is not None for word, way in _FREEZES)


@lru_cache(maxsize=256)
def freezes(text: str) -> bool:
    """Whether a text may freeze a model that it trains: one that only asks which parameters take gradients does not."""
    return may_freeze(text) and may_freeze(_ASKS.sub(".asked", text))


def is_of_a_library(things: Sequence[Thing]) -> bool:
    """Whether all that something may be are whole models that a library makes."""
    return bool(things) and all(t.kind == "external" and _LIBRARIES.match(t.dotted) for t in things)


def class_records(project: Project, cls: Thing) -> bool:
    """Whether no file of a class and its bases says which parameters take gradients, and no method stops them."""
    return _records(project, cls, speaks_of_freezing)


def class_may_record(project: Project, cls: Thing) -> bool:
    """Whether no file of a class and its bases may freeze parameters, and no method stops gradients."""
    return _records(project, cls, may_freeze)


def _records(project: Project, cls: Thing, frozen: Callable[[str], bool]) -> bool:
    parts = [part for part in project.index.ancestry(cls) if part.kind == "class"]
    return not any(frozen(project.text(part.path)) or _stops(project, part) for part in parts)


def _stops(project: Project, cls: Thing) -> bool:
    """Whether gradients end anywhere in the methods of a class, decorators included."""
    body, functions = project.body(cls.path), project.index.outlines[cls.path].functions
    if body is None:
        return True
    methods = [functions[number] for number in project.index.record(cls).methods.values()]
    methods = [method for method in methods if not _PREPARES.search(method.name)]
    return any(_STOPS.search("".join(body.lines[m.line - 1 : m.end_line])) for m in methods)


def is_without_parameters(dotted: str) -> bool:
    """Whether what is made by a class of torch's, and moved, has no parameters: `torch.nn.Upsample()`, a transform."""
    made = _MOVED.sub("", dotted)
    return is_plain_layer(made) or _TRANSFORMS.match(made) is not None


def trainable_parts(project: Project, cls: Thing) -> dict[str, str]:
    """The attributes of a module of the project that hold modules with parameters, and what they are, as written."""
    found: dict[str, str] = {}
    for part in project.index.ancestry(cls):
        body = project.body(part.path) if part.kind == "class" else None
        start = project.index.record(part).methods.get("__init__") if part.kind == "class" else None
        if body is None or start is None:
            continue
        for name, value, _ in body.self_assignments(start):
            if has_parameters(project, part.path, start, value):
                found.setdefault(name, ast.unparse(value))
    return found


def has_parameters(project: Project, path: str, function: int, value: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether an expression makes a module with parameters worth a saving."""
    if depth <= 0:
        return False
    if isinstance(value, ast.List | ast.Tuple):
        return any(has_parameters(project, path, function, element, depth) for element in value.elts)
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _MOVES:
        value = value.func.value
    if not isinstance(value, ast.Call):
        return False
    things = project.types.things(path, function, chain(value))
    if len(things) != 1:
        return False
    (thing,) = things
    if thing.kind == "instance":
        return class_records(project, thing) and _class_has(project, thing, depth - 1)
    if thing.dotted.removesuffix("()") in _CONTAINERS:
        return any(has_parameters(project, path, function, part, depth) for part in value.args)
    made = thing.dotted.removesuffix("()")
    return is_of_a_library(things) or (made.startswith("torch.nn.") and made.rpartition(".")[2] in _LAYERS)


def holds_layers(project: Project, cls: Thing, depth: int = _DEPTH) -> bool:
    """Whether a module of the project makes layers with parameters anywhere in its methods, in lists and loops too."""
    if depth <= 0 or not project.types.is_module_class(cls):
        return False
    for part in project.index.ancestry(cls):
        if part.kind != "class":
            continue
        methods = set(project.index.record(part).methods.values())
        for call in project.index.outlines[part.path].calls:
            if call.function in methods and makes_a_layer(project, part.path, call.function, call.callee, depth):
                return True
    return False


def makes_a_layer(project: Project, path: str, function: int, callee: str, depth: int = _DEPTH) -> bool:
    """Whether a call makes a layer with parameters, or a module that has some."""
    things = project.types.things(path, function, f"{callee}()")
    if is_of_a_library(things):
        return True
    for thing in things:
        if thing.kind == "instance" and holds_layers(project, thing, depth - 1):
            return True
        made = thing.dotted.removesuffix("()")
        if made.startswith("torch.nn.") and made.rpartition(".")[2] in _LAYERS:
            return True
    return False


def _class_has(project: Project, cls: Thing, depth: int) -> bool:
    start = project.index.record(cls).methods.get("__init__")
    body = project.body(cls.path)
    if start is None or body is None or not project.types.is_module_class(cls):
        return False
    return any(has_parameters(project, cls.path, start, value, depth) for _, value, _ in body.self_assignments(start))
