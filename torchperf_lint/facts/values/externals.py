"""Values of functions from outside the project: torch's, numpy's, builtins."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.devices.copied_beside import on_host_beside
from torchperf_lint.facts.devices.defaults import default_device
from torchperf_lint.facts.devices.devices import device_of, target_device
from torchperf_lint.facts.devices.one_device import joined_on_one_host
from torchperf_lint.facts.devices.wrapped_loaders import from_its_loader
from torchperf_lint.facts.outlines.signatures import LOADER_NAME
from torchperf_lint.facts.syntax import tensor_functions
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.substituted import call_of_each
from torchperf_lint.facts.values.datasets import batches_on_device, data_set
from torchperf_lint.facts.values.entries import is_stored_by_attribute, made_by_dict, made_of_keywords
from torchperf_lint.facts.values.iteration import next_of
from torchperf_lint.facts.values.nominal import from_thing, short_name
from torchperf_lint.facts.values.results import LOSS_FUNCTION, as_a_module_would, origin_of
from torchperf_lint.facts.values.single_numbers import is_one_number
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    NOTHING,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    join,
    sequence,
    tensor,
)
from torchperf_lint.facts.values.web_loaders import WEB_LOADER
from torchperf_lint.facts.values.wrapped_in_parallel import PARALLEL, wrapping
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


PROGRESS = pattern(r"(?:^|\.)(?:tqdm|trange|track|progress_bar|pbar)$|log_every$", re.IGNORECASE)


_AROUND_LOADERS = pattern(r"(?:^|\.)(?:\w+Progress|Progress(?:Bar|Meter)?|\w+ProgressBar)$")
"""Classes that show how far a loop has come, `LogProgress(logger, loader)`, and hand its batches on as they are."""


_ORDERED = "collections.OrderedDict"
_DICTS = frozenset({_ORDERED, "munch.Munch", "easydict.EasyDict", "addict.Dict", "box.Box"})
"""Classes of dicts, whose keywords are their entries."""
BUILTIN_RESULTS = (
    api.PLAIN_BUILTINS
    | api.PASSING_BUILTINS
    | {"sum", "max", "min", "abs", "round", "enumerate", "zip", "map", "filter", "getattr", "dict", "pow"}
)


_CHANGED = "dataclasses.replace"
"""Gives a record of the same class, some of its fields new."""


_FIRST, _SIDE_BY_SIDE = 4, 12
"""How many arguments of a call are looked at; of `zip`, each of which is a name's."""

_LIKE_BUILTINS = {"itertools.zip_longest": "zip"}
"""What fills up the shorter ones stands for no tensor."""


def value_of_external(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value:
    """The value of a call of something that was imported from outside the project."""
    head, _, rest = dotted.partition(".")
    found = _of_tensors(values, node, dotted, frame)
    if found is not None:
        return found
    if head == "torch":
        return _torch(values, node, dotted, rest, frame)
    if head == "builtins" or dotted in _LIKE_BUILTINS:
        return value_of_builtin(values, node, _LIKE_BUILTINS.get(dotted, rest), frame)
    if PROGRESS.search(dotted) and node.args:
        return values.of(node.args[0], frame)
    if _AROUND_LOADERS.search(dotted):
        wrapped = next((v for v in (_loader(values, a, frame) for a in node.args[:3]) if v.kind == "loader"), None)
        if wrapped is not None:
            return wrapped
    if dotted in ("itertools.islice", "itertools.cycle") and node.args:
        return values.of(node.args[0], frame)
    if (head == "copy" or dotted == _CHANGED) and node.args:
        return values.of(node.args[0], frame)
    if head in api.ARRAY_MODULES:
        return _of_arrays(values, node, dotted, frame)
    if head in api.PLAIN_MODULES:
        return PLAIN
    if LOSS_FUNCTION.search(dotted.rpartition(".")[2]):
        return as_a_module_would(values, node, frame)
    plain = dotted in _DICTS and (dotted == _ORDERED or not is_stored_by_attribute(values, node, frame))
    held = made_of_keywords(values, node, frame) if plain else None
    return held if held is not None else from_thing(values, Thing("external", dotted=dotted + "()"), dotted)


def _of_arrays(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value:
    """What functions of numpy and its like give: arrays on the host, most of them."""
    if dotted == "numpy.ndindex":
        return sequence(sequence(PLAIN))  # tuples of Python's integers
    given = values.of(node.args[0], frame) if dotted in _OF_EACH_ELEMENT and len(node.args) == 1 else UNKNOWN
    if given.kind == "tensor" and given.device == HOST:
        return given  # numpy hands it back as what it was given, by `Tensor.__array_wrap__`
    return PLAIN if is_one_number(values, node, dotted, frame) else Value("array", HOST)


_OF_EACH_ELEMENT = frozenset(f"numpy.{name}" for name in ("sqrt", "square", "exp", "log", "log2", "log10", "abs"))


def _loader(values: Values, node: ast.expr, frame: Frame) -> Value:
    """What is handed to a display of progress, which is a loader where nothing but its name is known."""
    value = values.of(node, frame)
    if value.kind != "unknown" or not LOADER_NAME.search(last_part(chain(node))):
        return value
    return Value("loader", HOST, f"`{chain(node)}`, a DataLoader by its name and use", Confidence.LIKELY)


def _torch(values: Values, node: ast.Call, dotted: str, rest: str, frame: Frame) -> Value:
    name = rest.rpartition(".")[2]
    if dotted.startswith(api.TENSOR_NAMESPACES):
        return _computed(values, node, dotted, frame)
    if name == "pad_packed_sequence":
        return _unpacked(_computed(values, node, dotted, frame))
    if dotted == "torch.utils.data.DataLoader":
        reason = batches_on_device(values, node, frame)
        because = f"a DataLoader whose batches are on the device ({reason})" if reason else "a DataLoader"
        return Value("loader", DEVICE if reason else HOST, because, origins=origin_of(values, node, frame))
    if dotted.startswith("torch.utils.data."):
        made = data_set(values, node, name, frame)
        if made is not None:
            return made
    if dotted in api.VARIABLES and node.args:
        return values.of(node.args[0], frame)
    if dotted == "torch.device":
        return Value("torch_device", device_of(values, node, frame) or DEVICE)
    if dotted in _REGISTERED:
        return _REGISTERED[dotted]
    if rest in _LEGACY_ON_DEVICE:
        return tensor(DEVICE, f"made on the device by `{dotted}`")
    if name in _NORMS:
        return tensor(ANYWHERE, f"the norm that `{name}` returns, a tensor")
    if "." in rest:
        made = from_thing(values, Thing("external", dotted=dotted + "()"), short_name(dotted))
        return wrapping(values, node, made, frame) if PARALLEL.match(dotted) else made
    return _torch_function(values, node, rest, frame)


def _of_tensors(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value | None:
    """What functions that are known to compute with tensors give; None for others, and without a tensor.

    So does what webdataset loads with.
    """
    if dotted == WEB_LOADER:
        thing = Thing("external", dotted=f"{WEB_LOADER}()")
        return Value("loader", HOST, "a `WebLoader`", thing=thing, origins=origin_of(values, node, frame))
    gives = tensor_functions.gives(dotted)
    if not gives:
        return None
    if gives == tensor_functions.SAME:
        given = values.of(node.args[0], frame) if node.args else None
        joined = given is not None and given.kind == "sequence" and dotted.startswith("einops.")
        return given.item if joined and given is not None else given  # a list of tensors becomes one
    if gives in (tensor_functions.TENSOR_ON_DEVICE, tensor_functions.TENSORS_ON_DEVICE):
        made = tensor(DEVICE, f"what `{short_name(dotted)}` renders, which is on the device")
        return made if gives == tensor_functions.TENSOR_ON_DEVICE else sequence(made, (made, made))
    if gives == tensor_functions.TENSORS:
        return sequence(_computed(values, node, dotted, frame))
    if gives == tensor_functions.COMPUTED:
        first = (values.of(argument, frame) for argument in node.args[:_FIRST])
        if not any(value.kind == "tensor" for value in first):
            return None
    return _computed(values, node, dotted, frame)


_FROM = " from a tensor: "
_PARAMETER = tensor(ANYWHERE, "an nn.Parameter")
_BUFFER = tensor(ANYWHERE, "an nn.Buffer")
_UNPACKED = (
    tensor(ANYWHERE, "the data that `pad_packed_sequence` lays out again"),
    tensor(HOST, "the lengths that `pad_packed_sequence` gives, which are on the host"),
)
_REGISTERED = {
    "torch.nn.utils.rnn.pad_packed_sequence": sequence(join(list(_UNPACKED)), _UNPACKED),
    "torch.nn.Parameter": _PARAMETER,
    "torch.nn.UninitializedParameter": _PARAMETER,
    "torch.nn.ParameterList": sequence(_PARAMETER),
    "torch.nn.ParameterDict": sequence(_PARAMETER),
    "torch.nn.Buffer": _BUFFER,
    "torch.nn.UninitializedBuffer": _BUFFER,
}
"""Parameters and buffers follow their module; a packed sequence is where its data are, but for its lengths."""
_NORMS = frozenset({"clip_grad_norm_", "clip_grad_norm", "get_total_norm"})
_LEGACY_ON_DEVICE = frozenset(f"cuda.{name}" for name in api.LEGACY_TYPES)


def _torch_function(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    """A function directly in `torch`."""
    if name in api.LIKE_FACTORIES:
        return _like(values, node, name, frame)
    if name == "normal" and len(node.args) < _SIZED and not any(k.arg in ("size", None) for k in node.keywords):
        return _drawn(values, node, frame)
    if name in api.FACTORIES or name in api.HOST_DATA or name in api.LEGACY_TYPES:
        return _made(values, node, name, frame)
    if name in api.MAPPED:
        return tensor(HOST, f"made by `torch.{name}`")
    if name in ("load", "save"):
        return UNKNOWN
    if name in api.PLAIN_TORCH or name in api.NOT_FUNCTIONS:
        return PLAIN
    return _computed(values, node, f"torch.{name}", frame)


def _made(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    device = target_device(values, node, frame)
    has_device = any(k.arg == "device" or k.arg is None for k in node.keywords)
    shares_memory = name in ("from_numpy", "frombuffer")
    where = device or (ANYWHERE if has_device else HOST if shares_memory else default_device(values, frame))
    if name == "tensor" and where == HOST and device is None and len(node.args) == 1:
        copied = values.of(node.args[0], frame)  # a copy of a tensor is where that is
        sure = copied.device == DEVICE or copied.confidence is Confidence.CERTAIN
        where = copied.device if copied.kind == "tensor" and sure else HOST
    if name in ("as_tensor", "asarray", *api.LEGACY_TYPES) and where == HOST and node.args:
        inner = values.of(node.args[0], frame)
        if inner.kind == "batch" and inner.device == HOST:
            return inner  # a tensor of the same data
        if name in api.LEGACY_TYPES:
            return tensor(HOST, f"made by `torch.{name}`")
        where = inner.device if inner.kind == "tensor" else HOST
    given = next((values.of(k.value, frame) for k in node.keywords if k.arg == "device"), None)
    return tensor(where, f"made by `torch.{name}`")._replace(borrowed=given is not None and given.borrowed)


_SIZED = 3
"""Arguments of `torch.normal` with a size: it fills a new tensor then, with what two numbers say."""


def _drawn(values: Values, node: ast.Call, frame: Frame) -> Value:
    """`torch.normal(mean, std)` draws where its tensors are."""
    given = [values.of(a, frame) for a in (*node.args, *(k.value for k in node.keywords if k.arg in ("mean", "std")))]
    devices = {value.device for value in given if value.kind in ("tensor", "batch")}
    on_host = devices == {HOST} and all(value.kind != "unknown" for value in given)
    return tensor(DEVICE if DEVICE in devices else HOST if on_host else ANYWHERE, "drawn by `torch.normal`")


def _like(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    device = target_device(values, node, frame)
    made = tensor(device or ANYWHERE, f"made by `torch.{name}`")
    if device is None and node.args:
        source = values.of(node.args[0], frame)
        if source.kind in ("tensor", "batch"):
            made = made._replace(device=source.device, borrowed=source.borrowed)
    return made


def _unpacked(padded: Value) -> Value:
    """What `pad_packed_sequence` gives: a tensor, and the lengths."""
    return sequence(padded, (padded, tensor(HOST, "the lengths of a `PackedSequence`, which torch keeps on the host")))


_VIEWS = frozenset("unsqueeze squeeze permute transpose swapaxes movedim flatten reshape narrow".split())
"""Functions that show the same memory, pinned or not, in another shape."""


_BOUNDED = frozenset({"clamp", "clip", "clamp_min", "clamp_max"})
"""Functions that leave a tensor where it is: a bound on another device would have to be a number, or an error. Where
a parameter is, one caller says with less certainty."""


def _computed(values: Values, node: ast.Call, dotted: str, frame: Frame) -> Value:
    """A torch function of tensors: a tensor where its inputs are."""
    inputs = [values.of(a, frame) for a in node.args[: 1 if last_part(dotted) in api.OF_THEIR_FIRST else 3]]
    inputs += [
        values.of(k.value, frame) for k in node.keywords[:3] if k.arg in ("input", "target", "tensors", "tensor")
    ]
    if last_part(dotted) in _VIEWS and inputs and inputs[0].kind == "batch":
        return inputs[0]
    joined = inputs[0] if inputs else UNKNOWN
    inputs = [value.item if value.kind == "sequence" and value.item is not None else value for value in inputs]
    if any(value.kind == "array" for value in inputs):
        return UNKNOWN
    tensors = [value for value in inputs if value.kind in ("tensor", "batch")]
    devices = {value.device for value in tensors}
    stays = last_part(dotted) in _BOUNDED and inputs and not inputs[0].borrowed
    decide = inputs[:1] if stays else inputs
    unknown = any(value.kind == "unknown" for value in decide)
    if devices == {HOST} and not unknown and any(value.kind == "nothing" for value in inputs):
        return NOTHING  # on the host only if that is, too
    # Of numbers alone torch makes what it makes of literals: `torch.div(h, 2)` where `h` is a size.
    numbers = bool(inputs) and not node.keywords and all(value.kind == "plain" for value in inputs)
    on_host = numbers or (devices == {HOST} and not unknown)
    on_host = on_host or joined_on_one_host(values, node, dotted, joined, frame)
    device = DEVICE if DEVICE in devices else HOST if on_host else ANYWHERE
    written = dotted.replace("torch.nn.functional.", "F.")
    because = f"computed by `{written}`"
    basis = next((v.because for v in tensors if v.device == device and v.because), "")
    # Of a chain of computations the last and what it all began with convince; the links between only fill lines.
    basis = basis.rpartition(_FROM)[2]
    found = tensor(device, because + _FROM + basis if basis else because)
    found = on_host_beside(found._replace(borrowed=any(value.borrowed for value in tensors)), node.args)
    elementwise = last_part(dotted) in ("max", "min") and _is_of_two(node, inputs)
    several = len(node.args) > 1 or any(k.arg == "dim" for k in node.keywords)
    if last_part(dotted) in api.PAIR_METHODS and several and not elementwise:
        return sequence(found, (found, found))
    if last_part(dotted) in api.SEQUENCE_METHODS:
        return sequence(found)
    return found


def _is_of_two(node: ast.Call, inputs: list[Value]) -> bool:
    """Whether the second argument of `torch.max` is a tensor, and no dimension, which nobody has to compute."""
    if len(inputs) < 2:
        return False
    computed = len(node.args) > 1 and isinstance(node.args[1], ast.BinOp) and inputs[1].kind == "unknown"
    return computed or inputs[1].kind == "tensor"


def _turned_around(values: Values, each: Value, frame: Frame) -> Value:
    """What `zip(*parts)` gives, where each part is a tuple: a sequence of the firsts, one of the seconds."""
    places = tuple(sequence(item) for item in each.items)
    return sequence(join(places), places) if places else sequence(sequence(values.element(each, frame)))


def value_of_builtin(values: Values, node: ast.Call, name: str, frame: Frame) -> Value:
    """The value of a call of a builtin."""
    if name == "range":
        return sequence(PLAIN)
    if name in api.PLAIN_BUILTINS:
        return PLAIN
    if name == "dict":
        return made_by_dict(values, node, frame)
    several = _SIDE_BY_SIDE if name == "zip" else _FIRST
    arguments = [values.of(argument, frame) for argument in node.args[:several]]
    if not arguments:
        return sequence(UNKNOWN) if name in ("list", "tuple", "set") else UNKNOWN
    first = arguments[0]
    if name == "next":
        given = next_of(values, first, frame)
        return from_its_loader(values, node.args[0], given, frame) if first.kind == "object" else given
    if name in api.PASSING_BUILTINS or name == "filter":
        return arguments[-1] if name == "filter" else first
    if name == "enumerate":
        return sequence(sequence(UNKNOWN, (PLAIN, values.element(first, frame))))
    if name == "zip" and isinstance(node.args[0], ast.Starred):
        return _turned_around(values, values.element(first, frame), frame)
    if name == "zip":
        items = tuple(values.element(argument, frame) for argument in arguments)
        return sequence(sequence(join(items), items))
    if name == "map" and len(node.args) > 1 and not any(isinstance(a, ast.Starred) for a in node.args):
        return sequence(values.of(call_of_each(node.args[0], node.args[1:], node), frame))
    if name in ("sum", "max", "min"):
        return values.element(first, frame) if len(arguments) == 1 else join(arguments)
    return first if name in ("abs", "round", "pow") else UNKNOWN
