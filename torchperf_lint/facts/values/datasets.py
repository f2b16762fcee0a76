"""Data sets: what reading an item costs, and what they hold ready, in memory or on the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.item_transforms import transforms_given
from torchperf_lint.facts.values.results import returned
from torchperf_lint.facts.values.value import DEVICE, HOST, Frame, Value, sequence, tensor

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_COLLATING = 3
"""How many functions `collate_fn` may go through to what reads a file: `self.load`, of its reader, of a library."""
_OF_TEXTS = frozenset("encode encode_plus tokenize decode".split())


class Held(NamedTuple):
    """Items that a data set holds ready, so that no worker could prepare them."""

    device: str
    """DEVICE (worker processes and pinning would fail on them) or HOST (memory)."""
    because: str


_HEAVY = frozenset(
    "imread imdecode load_image read_image decode_image decode_jpeg default_loader open loadmat read_csv "
    "loadtxt decode tokenize encode encode_plus librosa dcmread resample resize crop augment transform "
    "transforms VideoReader read_video imread_collection begin".split()
)
"""What costs by its name; `begin` opens a transaction of a database, which the item is read in."""
_BYTES = frozenset({"?.encode", "?.decode"})
"""`f"{name}_{index}".encode()`: a text or bytes put together there, no tokenizer."""
_HEAVY_LIBRARIES = (
    "PIL.",
    "cv2.",
    "h5py.",
    "librosa.",
    "torchaudio.",
    "soundfile.",
    "nibabel.",
    "pydicom.",
    "skimage.",
    "imageio.",
    "decord.",
    "av.",
    "SimpleITK.",
    "albumentations.",
    "rasterio.",
    "lmdb.",
)
_GRIDS = ("numpy.mgrid", "numpy.meshgrid", "numpy.indices", "torch.meshgrid")
"""What computes two numbers for each pixel of an image, where each item does so anew."""
_HEAVY_LOADS = ("numpy.load", "torch.load", "builtins.open", "pandas.read_csv", "torchvision.io.")
_FILE_DATASETS = ("torchvision.datasets.", "torchaudio.datasets.")
_IN_MEMORY_DATASETS = (
    "torchvision.datasets.MNIST",
    "torchvision.datasets.FakeData",
    "torchvision.datasets.FashionMNIST",
    "torchvision.datasets.KMNIST",
    "torchvision.datasets.EMNIST",
)


_MEMORY_DATASETS = ("torch.utils.data.TensorDataset", *_IN_MEMORY_DATASETS)
_CHEAP = frozenset(
    "len int str float isinstance range slice tensor as_tensor from_numpy Tensor FloatTensor LongTensor float long "
    "clone copy dict tuple list item squeeze unsqueeze index_select bool".split()
)
"""Calls after which an item is still only what was taken from memory."""
COLLATE_POSITION = 6
"""Of `collate_fn` in `DataLoader(dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn)`."""


def data_of(call: ast.Call) -> ast.expr | None:
    """The data set that a loader is made for."""
    if call.args:
        return None if isinstance(call.args[0], ast.Starred) else call.args[0]
    return keyword(call, "dataset")


def held(values: Values, call: ast.Call, frame: Frame) -> Held | None:
    """What the data set of the loader made by `call` holds ready; None where it reads, computes, or nobody knows."""
    data = data_of(call)
    if data is None:
        return None
    value = values.of(data, frame)
    reason = _on_device(values, value, frame)
    if reason is not None:
        return Held(DEVICE, reason)
    things = _things(values, data, value, frame)
    reason = next((r for r in (_in_memory(values, thing) for thing in things) if r is not None), None)
    if reason is None and value.kind in ("sequence", "tensor"):
        reason = f"`{chain(data)}` is a list or tensor"
    works = item_work(values, data, frame) or collating_work(values, call, frame) if reason is not None else None
    return Held(HOST, reason) if reason is not None and works is None else None


def batches_on_device(values: Values, call: ast.Call, frame: Frame) -> str | None:
    """Why the batches of the loader made by `call` are on the device as they come; None where they are not."""
    data = data_of(call)
    reason = _on_device(values, values.of(data, frame), frame) if data is not None else None
    return reason or _collated_on_device(values, call, frame)


def item_work(values: Values, data: ast.expr, frame: Frame) -> str | None:
    """What reading one item costs, in words, where the data set's class is known to do real work."""
    for thing in _things(values, data, values.of(data, frame), frame):
        found = _work_of(values, thing)
        if found is not None:
            return found
    return transforms_given(values, data, frame)


def collating_work(values: Values, call: ast.Call, frame: Frame) -> str | None:
    """What putting a batch together costs, in words, where `collate_fn` itself reads the files that items only name.

    A tokenizer that it calls is quick with a few lines of text.
    """
    key = _function_of(values, _collate_fn(call), frame)
    found = heavy_call(values, key, _COLLATING) if key is not None else None
    if key is None or found is None or last_part(found.removesuffix("()")) in _OF_TEXTS:
        return None
    return f"its `{values.index.function(key).name}` calls `{found}` for each batch"


def _collate_fn(call: ast.Call) -> ast.expr | None:
    given = keyword(call, "collate_fn")
    return call.args[COLLATE_POSITION] if given is None and len(call.args) > COLLATE_POSITION else given


def _function_of(values: Values, node: ast.expr | None, frame: Frame) -> FunctionKey | None:
    """The function of the project that an expression names: one of a module, or a method of a data set."""
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    return next(iter(values.types.targets(frame.path, frame.function, chain(node))), None)


def _things(values: Values, data: ast.expr, value: Value, frame: Frame) -> tuple[Thing, ...]:
    """The classes that a data set may be of."""
    if value.kind == "object" and value.thing is not None:
        return (value.thing,)
    return values.types.things(frame.path, frame.function, chain(data))


def data_set(values: Values, node: ast.Call, name: str, frame: Frame) -> Value | None:
    """What one of `torch.utils.data`'s functions and classes makes of data; None for its others."""
    given = [values.of(argument, frame) for argument in node.args[:6] if not isinstance(argument, ast.Starred)]
    if not given:
        return None
    if name == "TensorDataset":
        thing = Thing("external", dotted="torch.utils.data.TensorDataset()")
        reason = next((_device_part(value) for value in given if _device_part(value)), None)
        return Value("object", DEVICE if reason else HOST, reason or "", thing=thing)
    if name == "default_collate":
        return tensor(HOST, "what `default_collate` makes of items")
    if name == "Subset":
        return given[0]
    if name == "random_split":
        return sequence(given[0])
    return values.element(given[0], frame) if name == "ConcatDataset" else None


# -- on the device ---------------------------------------------------------------------------------


def _on_device(values: Values, data: Value, frame: Frame) -> str | None:
    if data.kind == "object" and data.device == DEVICE:
        return data.because
    if data.kind != "object" or data.thing is None or data.thing.kind != "instance":
        return _device_part(data) if data.kind in ("sequence", "tensor") else None
    key = values.index.method(data.thing, "__getitem__") or values.index.method(data.thing, "__iter__")
    name = values.index.record(data.thing).name
    reason = _device_part(returned(values, key, frame))
    return f"`{name}` hands out device tensors: {reason}" if reason else None


def _collated_on_device(values: Values, call: ast.Call, frame: Frame) -> str | None:
    given = _collate_fn(call)
    if isinstance(given, ast.Lambda):
        body = values.body(frame.path)
        made = values.of(given.body, frame._replace(at=body.at(given.body))) if body is not None else Value()
    else:
        thing = values.thing(given, frame) if given is not None else None
        key = FunctionKey(thing.path, thing.index) if thing is not None and thing.kind == "function" else None
        made = returned(values, key, frame)
    reason = _device_part(made)
    return f"its `collate_fn` hands out device tensors: {reason}" if reason else None


def _device_part(value: Value) -> str | None:
    """Why a value or a part of it is a tensor on the device."""
    parts = [value, *value.items, *([value.item] if value.item is not None else [])]
    found = next((part for part in parts if part.kind == "tensor" and part.device == DEVICE), None)
    return found.because if found is not None else None


# -- in memory -------------------------------------------------------------------------------------


def _in_memory(values: Values, thing: Thing) -> str | None:
    if thing.kind == "external":
        name = thing.dotted.removesuffix("()")
        known = thing.dotted.endswith("()") and name in _MEMORY_DATASETS
        return f"`{name.rpartition('.')[2]}` holds its items in memory" if known else None
    key = values.index.method(thing, "__getitem__") if thing.kind == "instance" else None
    if key is None or not _only_indexes(values, key):
        return None
    return f"`{values.index.record(thing).name}.__getitem__` only indexes what is in memory"


def _only_indexes(values: Values, key: FunctionKey) -> bool:
    """Whether `__getitem__` takes its items out of attributes and does next to nothing with them."""
    body = values.body(key.path)
    node = body.functions.get(key.index) if body is not None else None
    if not isinstance(node, ast.FunctionDef) or not node.args.args:
        return False
    own = node.args.args[0].arg
    taken = False
    for part in ast.walk(node):
        if isinstance(part, ast.Call) and last_part(chain(part.func)) not in _CHEAP:
            return False
        if isinstance(part, ast.Subscript) and chain(part.value).startswith(f"{own}."):
            if _mapped_from_disk(values, key, chain(part.value).removeprefix(f"{own}.")):
                return False
            taken = True
    return taken


_FROM_DISK = ("mmap", "h5py", "lmdb", "zarr", "load_dataset", "LMDB", "HDF5", "open(")


def _mapped_from_disk(values: Values, key: FunctionKey, attribute: str) -> bool:
    """Whether an attribute looks like memory and is a file."""
    return any(sign in ast.unparse(value) for value in _assigned(values, key, attribute) for sign in _FROM_DISK)


def _assigned(values: Values, key: FunctionKey, attribute: str) -> Iterator[ast.expr]:
    cls = values.index.function(key).class_index
    body = values.body(key.path)
    if body is None:
        return
    for method in values.index.outlines[key.path].classes[cls].methods.values():
        yield from (value for name, value, _ in body.self_assignments(method) if name == attribute)


# -- work ------------------------------------------------------------------------------------------


def _work_of(values: Values, thing: Thing) -> str | None:
    if thing.kind == "external":
        name = thing.dotted.removesuffix("()")
        if name.startswith(_FILE_DATASETS) and name not in _IN_MEMORY_DATASETS and thing.dotted.endswith("()"):
            return f"`{name.rpartition('.')[2]}` decodes a file for each item"
        return None
    if thing.kind != "instance":
        return None
    key = values.index.method(thing, "__getitem__")
    name = values.index.record(thing).name
    if key is None:
        bases = [b for b in values.index.external_bases(thing) if b.startswith(_FILE_DATASETS)]
        return f"`{name}` decodes a file for each item" if bases else None
    found = heavy_call(values, key, 2)
    return f"`{name}.__getitem__` calls `{found}` for each item" if found else None


def heavy_call(values: Values, key: FunctionKey, depth: int) -> str | None:
    """What a function calls, itself or through others, that costs more than to take something from memory."""
    calls = values.index.calls_in(key)
    for call in calls:
        things = values.types.things(key.path, key.index, call.callee)
        # `Dataset().transform` is only what nobody knows: an attribute that the base class might have.
        dotted = [thing.dotted for thing in things if thing.kind == "external" and "()." not in thing.dotted]
        if any(name.startswith((*_HEAVY_LIBRARIES, *_HEAVY_LOADS, *_GRIDS)) for name in dotted):
            return f"{call.callee}()".replace("[]", "[...]")
        named = last_part(call.callee) in _HEAVY and call.callee not in _BYTES
        if named and all(name.endswith("()") for name in dotted):
            return f"{call.callee}()"
    for call in calls if depth else ():
        for target in values.types.targets(key.path, key.index, call.callee):
            found = heavy_call(values, target, depth - 1)
            if found:
                return found
    return None
