"""Values that a class, an annotation or an external name promises."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.call_graph.module_names import is_module_name
from torchperf_lint.facts.outlines.signatures import annotation_chain
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.tensor_functions import makes_module
from torchperf_lint.facts.values.promised import contents
from torchperf_lint.facts.values.single_numbers import CONSTANTS
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    tensor,
)
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


_TENSOR_CLASSES = frozenset(
    "torch.Tensor torch.FloatTensor torch.LongTensor torch.BoolTensor torch.IntTensor torch.nn.Parameter "
    "torch.DoubleTensor torch.ShortTensor torch.BFloat16Tensor torch.HalfTensor torch.ByteTensor "
    "torch.cuda.FloatTensor torch.cuda.LongTensor torch.cuda.HalfTensor torch.cuda.IntTensor torch.cuda.BoolTensor "
    "torch.nn.parameter.Parameter torch.nn.Buffer torch.nn.parameter.Buffer torch_geometric.typing.OptTensor "
    "torch_geometric.typing.Tensor".split()
).union(api.VARIABLES)


_ANYTHING = frozenset(
    "typing.Any builtins.object typing_extensions.Any typing.SupportsFloat typing.SupportsInt typing.Iterable "
    "typing.Iterator collections.abc.Iterable collections.abc.Iterator".split()
)
"""Annotations that tell nothing apart: `float()` and `int()` take tensors as well, and loaders are iterables."""


_ARRAY_CLASSES = pattern(r"^(?:numpy|pandas|PIL)\.|ndarray$|NDArray$|ArrayLike$")


_NUMBERS = pattern(
    r"^(?:\w+\.)?(?:List|Tuple|Dict|Sequence|Iterable|Mapping)\[(?:\b(?:typing|List|Tuple|Dict|Sequence|Iterable|Mapping"
    r"|Optional|Union|None|int|float|bool|str)\b|[\s,.|\[\]'\"])+\]$"
)
"""`List[int]`, `Dict[str, Tuple[int, ...]]`: a name that is a tensor in another branch stays one beside it."""
_PLAIN_CLASSES = pattern(r"^builtins\.(?:int|float|bool|str|bytes|list|dict|tuple|set)\b|^torch\.(?:Size|dtype)$")


def from_thing(values: Values, thing: Thing | None, name: str) -> Value:
    """The value that a nominal type stands for."""
    if thing is None:
        return UNKNOWN
    if thing.kind == "instance":
        if values.hotness.loops.of_loaders.is_loader(thing):
            return Value("loader", HOST, "a DataLoader", thing=thing)
        if values.types.is_module_class(thing):
            cls = values.index.record(thing).name
            return Value("module", ANYWHERE, f"a `{cls}`, an nn.Module", thing=thing)
        return Value("object", HOST, thing=thing)
    if thing.kind != "external":
        return UNKNOWN
    return _from_external(values, thing, name)


def _from_external(values: Values, thing: Thing, name: str) -> Value:
    dotted = thing.dotted
    if dotted.endswith("()"):
        if values.hotness.loops.of_loaders.is_loader(thing):
            return Value("loader", HOST, "a DataLoader")
        if is_module_name(dotted[:-2]) or makes_module(dotted[:-2]):
            name = short_name(dotted[:-2])
            return Value("module", ANYWHERE, f"{'an' if name[:1] in 'aeioun' else 'a'} `{name}`", thing=thing)
        if dotted.startswith("torch.optim."):
            return Value("optimizer", HOST, thing=thing)
        if dotted == "torch.device()":
            return Value("torch_device", DEVICE)
    if dotted.endswith(".device") and "()" in dotted:
        return Value("torch_device", DEVICE)
    head = dotted.partition(".")[0]
    if dotted.partition("()")[0] in _ANYTHING:
        return UNKNOWN
    if dotted in CONSTANTS:
        return PLAIN
    if head in api.ARRAY_MODULES and "()" in dotted:
        return Value("array", HOST)
    if head in ("typing", "typing_extensions"):
        return PLAIN if dotted.startswith("typing.Tuple()") else UNKNOWN  # who says no more of a tuple means sizes
    if head in api.PLAIN_MODULES or head == "builtins":
        return PLAIN if "()" in dotted or head == "math" else UNKNOWN
    # Of what methods of foreign objects return, nothing is known.
    return Value("object", HOST, thing=thing) if dotted.endswith("()") and dotted.count("()") == 1 else UNKNOWN


def from_annotation(values: Values, annotation: str, frame: Frame, name: str, line: int) -> Value:
    """The value that an annotation promises."""
    if not annotation:
        return UNKNOWN
    annotation = _spelled_out(values, annotation, frame)
    container = contents(annotation, f"`{name}` is annotated `{annotation}` (line {line})")
    if container is not None:
        return container
    if _NUMBERS.match(annotation):
        return PLAIN
    things = values.types.things(frame.path, 0, annotation)
    thing = things[0] if things else None
    if thing is None:
        return PLAIN if annotation in ("int", "float", "bool", "str") else UNKNOWN
    if thing.kind == "external":
        if thing.dotted.partition("[")[0] in _ANYTHING:
            return UNKNOWN
        if thing.dotted in _TENSOR_CLASSES:
            return tensor(ANYWHERE, f"`{name}` is annotated `{annotation}` (line {line})")
        if _ARRAY_CLASSES.search(thing.dotted):
            return Value("array", HOST)
        if _PLAIN_CLASSES.search(thing.dotted):
            return PLAIN if "list" not in thing.dotted and "dict" not in thing.dotted else UNKNOWN
        if thing.dotted == "torch.device":
            return Value("torch_device", DEVICE)
        promised = from_thing(values, thing._replace(dotted=thing.dotted + "()"), name)
    elif thing.kind == "class":
        promised = from_thing(values, Thing("instance", thing.path, thing.index), name)
    else:
        return UNKNOWN
    return (
        promised._replace(because=f"`{name}` is annotated `{annotation}` (line {line})")
        if promised.because
        else promised
    )


def _spelled_out(values: Values, annotation: str, frame: Frame) -> str:
    """What a name of the file's own stands for, `Batch = List[torch.Tensor]`; any other annotation as it is."""
    body = values.body(frame.path) if annotation.isidentifier() else None
    bound = body.definitions(0).get(annotation, ()) if body is not None else ()
    made = bound[0].value if len(bound) == 1 else None
    return annotation_chain(made) or annotation if isinstance(made, ast.Subscript) else annotation


def short_name(dotted: str) -> str:
    """`nn.Linear` for `torch.nn.Linear`."""
    return "nn." + dotted.rpartition(".")[2] if dotted.startswith("torch.nn.") else dotted
