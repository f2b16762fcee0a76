"""What iterating gives: loaders, wrappers of loaders, own iterables; and what frameworks make of loaders."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.outlines.signatures import ACCELERATOR_NAME, LOADER_NAME
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.results import returned
from torchperf_lint.facts.values.value import (
    ANYWHERE,
    DEVICE,
    HOST,
    PLAIN,
    UNKNOWN,
    Frame,
    Value,
    is_mapping,
    sequence,
)
from torchperf_lint.facts.values.web_loaders import KEEPS, is_web_loader
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

if TYPE_CHECKING:
    from torchperf_lint.facts.call_graph.index import FunctionKey
    from torchperf_lint.facts.outlines.records import Call
    from torchperf_lint.facts.values.values import Values

_PREPARE = frozenset("prepare prepare_data_loader prepare_model setup setup_dataloaders setup_module".split())

_PREPARE_LOADERS = frozenset({"prepare_data_loader", "setup_dataloaders"})


def element(values: Values, value: Value, frame: Frame) -> Value:
    """One element of what a loop iterates."""
    if value.kind == "loader":
        own = _own_element(values, value, frame)
        return own if own is not None else _batch(value)
    if is_mapping(value):
        return PLAIN
    if value.kind == "sequence":
        return value.item or UNKNOWN
    if value.kind in ("tensor", "batch", "array", "module"):
        return value
    if value.kind == "plain":
        return PLAIN
    if value.kind == "object":
        return _own_element(values, value, frame) or UNKNOWN
    return UNKNOWN


def _batch(loader: Value) -> Value:
    told = loader.because or "a loader"
    because = f"a batch from a loader: {told}" if told.startswith("`") else f"a batch from {told}"
    return Value("batch", loader.device, because, loader.confidence, origins=loader.origins)


def _own_element(values: Values, value: Value, frame: Frame) -> Value | None:
    """What an object of a project's class goes through; None where its class does not say how."""
    if value.thing is None or value.thing.kind != "instance":
        return None
    key = values.index.method(value.thing, "__iter__")
    if key is None:
        return None
    if value.kind == "loader" and _fetches_ahead(values, key):
        return element(values, value._replace(thing=None), frame)
    gone_through = returned(values, key, frame)
    if gone_through.kind == "object" and gone_through.thing == value.thing:
        return next_of(values, gone_through, frame)
    if gone_through.kind in ("loader", "sequence"):
        return element(values, gone_through._replace(thing=None), frame)
    # A loader that goes its own way may have moved the batch already.
    return Value("batch", ANYWHERE, value.because, Confidence.LIKELY) if value.kind == "loader" else UNKNOWN


def _fetches_ahead(values: Values, key: FunctionKey) -> bool:
    """`return BackgroundGenerator(super().__iter__())`: a thread takes the batches, and leaves them where they are."""
    body = values.body(key.path)
    returned_here = body.returns(key.index) if body is not None else []
    only = returned_here[0] if len(returned_here) == 1 else None
    if not isinstance(only, ast.Call) or not only.args or ast.unparse(only.args[0]) != "super().__iter__()":
        return False
    things = values.types.things(key.path, key.index, chain(only.func))
    return bool(things) and all(thing.kind == "external" and thing.dotted == _BACKGROUND for thing in things)


def next_of(values: Values, value: Value, frame: Frame) -> Value:
    """What `next(value)` gives."""
    if value.kind != "object":
        return element(values, value, frame)
    key = values.index.method(value.thing, "__next__") if value.thing and value.thing.kind == "instance" else None
    given = returned(values, key, frame)
    if key is None:
        return given
    return _told(given, f"what `{values.index.function(key).qualname}` gives ({key.path})")


def _told(value: Value, what: str) -> Value:
    """A value of another function, with that said in its reason, and in those of its parts."""
    if value.kind == "sequence":
        item = _told(value.item, what) if value.item is not None else None
        return value._replace(item=item, items=tuple(_told(part, what) for part in value.items))
    because = value.because if value.kind in ("tensor", "batch") else ""
    return value.with_reason(f"{what}: {because}") if because else value


def hands_over(values: Values, value: Value) -> bool:
    """Whether a value is an object of a project's class that hands over one thing after the other: it has `__next__`.

    What it hands over is known by its class, however far away it was made; by its name it were a loader of torch's.
    """
    if value.kind != "object" or value.thing is None or value.thing.kind != "instance":
        return False
    return values.index.method(value.thing, "__next__") is not None


_BACKGROUND = "prefetch_generator.BackgroundGenerator"
_BATCH = pattern(r"^(?:(?:mini|micro|train|val|test|real|data)_?)?batch(?:_?data)?$|^(?:real_)?(?:imgs?|images?)$")
_NUMBER = pattern(
    r"(?:^|_)(?:[ijkn]|i?idx|ind(?:ex|ices)|ids?|steps?|iters?|epochs?|num|count|len|size|time|info)s?(?:_|$)"
)
_MODULE = pattern(r"(?:^|_)(?:net|network|model|module|env|agent|policy|encoder|decoder)s?(?:_|$)")
_COUNTS = frozenset(("range", "len", "list", "sorted", "next", "getattr"))
_OF_A_MODULE = pattern(r"(?:parameters|buffers|modules|children|named_\w+)\(\)$")


def batch_of_unknown(values: Values, name: str, node: ast.expr, frame: Frame) -> Value:
    """What `batch, cond = next(self.data)` binds: a batch from a loader that nobody here can see, by its name.

    So is what is unpacked beside it, but for a number of the batch. It is on the host, unless accelerate or Fabric sets
    up the file's loaders.
    """
    taken = isinstance(node, ast.Call) and chain(node.func) == "next" and len(node.args) == 1
    if not taken or not isinstance(node, ast.Call):
        return UNKNOWN
    written = chain(node.args[0])
    if _OF_A_MODULE.search(written) or "?" in written:
        return UNKNOWN
    called = name if _BATCH.search(name) else _batch_beside(values, name, node, frame)
    if not called:
        return UNKNOWN
    device = DEVICE if sets_up_loaders(values, frame.path) else HOST
    by_name = "a batch, by its name," if called == name else f"of a batch, by the name of `{called}` beside it,"
    return Value("batch", device, f"{by_name} that `next({written})` gives", Confidence.LIKELY)


def _batch_beside(values: Values, name: str, node: ast.expr, frame: Frame) -> str:
    """The name of a batch that is unpacked from the same; empty where there is none, or the name is of a number or
    a module."""
    body = values.body(frame.path)
    if body is None or _NUMBER.search(name) or _MODULE.search(name):
        return ""
    bound = body.definitions(frame.function).items()
    beside = (other for other, found in bound if any(d.value is node and d.how == "item" for d in found))
    return next((other for other in beside if _BATCH.search(other)), "")


def sets_up_loaders(values: Values, path: str) -> bool:
    """Whether a file has accelerate or Fabric move its batches."""
    return any(map(_sets_up_loaders, values.index.outlines[path].calls))


def _sets_up_loaders(call: Call) -> bool:
    base, _, name = call.callee.rpartition(".")
    return name in _PREPARE_LOADERS and bool(ACCELERATOR_NAME.search(base))


def prepares(call: Call) -> bool:
    """Whether accelerate or Fabric may be handed loaders in a call, to move their batches."""
    base, _, name = call.callee.rpartition(".")
    return name in _PREPARE and bool(ACCELERATOR_NAME.search(base))


def loader_method(values: Values, base: Value, name: str, frame: Frame) -> Value:
    """What a method of a loader, or of its iterator, gives."""
    if name in ("next", "__next__"):
        return element(values, base, frame)
    return base if name == "__iter__" or (name in KEEPS and is_web_loader(base)) else UNKNOWN


def prepared(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """What accelerate's `prepare` or Fabric's `setup` returns: modules and batches are on the device."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in _PREPARE or not node.args:
        return None
    base = values.of(node.func.value, frame)
    if base.kind == "object" and base.thing is not None and base.thing.kind == "external":
        known = base.thing.dotted.startswith(("accelerate.", "lightning.Fabric", "lightning_fabric."))
    else:
        known = base.kind == "unknown" and bool(ACCELERATOR_NAME.search(chain(node.func.value)))
    if not known or any(isinstance(argument, ast.Starred) for argument in node.args):
        return UNKNOWN if known else None
    if any(k.arg in ("move_to_device", "device_placement") for k in node.keywords):
        return UNKNOWN
    found = tuple(_moved(values.of(argument, frame), argument) for argument in node.args)
    return found[0] if len(found) == 1 else sequence(UNKNOWN, found)


def _moved(value: Value, argument: ast.expr) -> Value:
    if value.kind in ("loader", "module"):
        return value if is_web_loader(value) else value._replace(device=DEVICE)
    written = chain(argument)
    if value.kind == "unknown" and LOADER_NAME.search(last_part(written)):
        return Value("loader", DEVICE, f"`{written}`, a DataLoader by its name", Confidence.LIKELY)
    return value


def over_loaders(values: Values, iterated: Value, frame: Frame) -> tuple[Value, ...]:
    """The batches that a loop over `iterated` gets: alone, beside an index, one of each loader that is zipped."""
    return tuple(_batches(element(values, iterated, frame), 3))


def _batches(value: Value, depth: int) -> Iterator[Value]:
    if value.kind == "batch" and value.origins:
        yield value
    elif depth:
        for part in value.items:
            yield from _batches(part, depth - 1)


def handed_through(values: Values, node: ast.expr, frame: Frame) -> tuple[Value, ...]:
    """The batches that a loop over `track("Train", loader)` gets: of a call that nobody knows, given one loader."""
    if not isinstance(node, ast.Call) or values.types.targets(frame.path, frame.function, chain(node.func)):
        return ()
    if isinstance(node.func, ast.Name) and node.func.id in _COUNTS:
        return ()
    given = [values.of(part, frame) for part in node.args if isinstance(part, ast.Name | ast.Attribute)]
    loaders = [value for value in given if value.kind == "loader"]
    return over_loaders(values, loaders[0], frame) if len(loaders) == 1 else ()


def taken_by(base: Value, index: ast.expr) -> Value:
    """What a subscript with this index gives of a container or sequence."""
    position = _integer(index)
    if position is not None and base.items:
        return base.items[position] if -len(base.items) <= position < len(base.items) else UNKNOWN
    if isinstance(index, ast.Slice):
        return base._replace(items=())
    return base.item or UNKNOWN


def _integer(node: ast.expr) -> int | None:
    """A literal integer, `-1` too."""
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return sign * inner.value if isinstance(inner, ast.Constant) and type(inner.value) is int else None
