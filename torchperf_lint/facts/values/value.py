"""What is known of an expression's value: its kind, where it lives, and the evidence in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.call_graph.passed import is_passed
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.model import Confidence

DEVICE = "device"
"""On an accelerator, or wherever a device variable says."""
HOST = "host"
ANYWHERE = "anywhere"
"""Nothing in the code says where: with the model, most often."""


_new = tuple.__new__
"""Makes a named tuple of all its fields in a third of the time that its class takes; hundreds of thousands are made."""


MAX_HOPS = 5
"""Loops, calls and attributes followed where nothing is kept on the way, before evaluation stops."""


class Frame(NamedTuple):
    """Where an expression stands, and how far the evaluation has come.

    Depth and hops are bounded, so evaluation ends where nothing is kept on the way.
    """

    path: str
    function: int
    at: Position
    depth: int = 0
    """Expressions nested around this one."""
    hops: int = 0
    """Loops, calls and attributes followed to get here: all that may lead to where one was before."""

    def deeper(self) -> Frame:
        """The same place, one expression further in."""
        return _new(Frame, (self.path, self.function, self.at, self.depth + 1, self.hops))

    def hop(self, path: str, function: int, at: Position) -> Frame:
        """Another place, one loop, call or attribute further on."""
        return _new(Frame, (path, function, at, 0, self.hops + 1))

    def within(self, function: int) -> Frame:
        """The same place, seen from another function of the file."""
        return _new(Frame, (self.path, function, self.at, self.depth, self.hops))

    def anew(self) -> Frame:
        """The same place, for a question of its own: how its asker came there is of no matter."""
        return _new(Frame, (self.path, self.function, self.at, 0, 0))

    def placed(self, at: Position) -> Frame:
        """Another place in the same function, as near as this one."""
        return _new(Frame, (self.path, self.function, at, self.depth, self.hops))

    def back(self, at: Position, end: Position | None = None) -> Frame:
        """The place of a binding in the same function, which holds after `end` (after `at` where that is not given).

        One above is as near. One that has not ended here comes from a loop's turn before, which is a hop: it may be the
        very statement that asks, `a = [f(x) for x in a]` over several lines.
        """
        if (end or at) > self.at or at == self.at:
            return self.hop(self.path, self.function, at)
        return _new(Frame, (self.path, self.function, at, 0, self.hops))


class Value(NamedTuple):
    """A value as far as the code shows it.

    kind: tensor, batch (what a loader yields: a tensor or a container of them), module, optimizer, loader, array
    (numpy, pandas and their like), plain (numbers, text, shapes, None), sequence (of `item`), torch_device, dtype,
    object (an instance of `thing`), unknown, or nothing (still being worked out: the bottom of the lattice).
    """

    kind: str = "unknown"
    device: str = ANYWHERE
    because: str = ""
    confidence: Confidence = Confidence.CERTAIN
    item: Value | None = None
    """What iterating or indexing gives."""
    items: tuple[Value, ...] = ()
    """For a tuple of known length: its elements."""
    entries: tuple[tuple[str, Value], ...] = ()
    """For a dict that is written out: (key, value) of the keys that are texts, in their order."""
    thing: Thing | None = None
    borrowed: bool = False
    """Whether the device is that of a parameter: each call has its own answer, see `as_called`."""
    origins: tuple[tuple[str, int, int], ...] = ()
    """(path, 1-based line, 1-based column) of each call that may have made a loader; batches carry their loader's."""
    levels: int | None = None
    """How many texts take a part that is where `device` says, for a batch whose entries were moved one by one."""

    @property
    def on_device(self) -> bool:
        """Whether reading it on the host may wait for an accelerator."""
        return (self.kind == "tensor" and self.device != HOST) or (self.kind == "batch" and self.device == DEVICE)

    def weaker(self, confidence: Confidence) -> Value:
        """The same with at most `confidence`."""
        if confidence.at_least(self.confidence):
            return self
        return _new(Value, (*self[:3], confidence, *self[4:]))

    def with_reason(self, because: str) -> Value:
        """The same with another reason."""
        return _new(Value, (*self[:2], because, *self[3:]))

    def lent(self) -> Value:
        """The same tensor, whose device is that of a parameter."""
        return _new(Value, (*self[:8], True, *self[9:]))

    def moved(self, device: str, because: str = "") -> Value:
        """The same on another device."""
        kind = "tensor" if self.kind == "batch" else self.kind
        because = because or self.because
        return self._replace(kind=kind, device=device, because=because, borrowed=False, entries=(), levels=None)


UNKNOWN = Value()
NOTHING = Value("nothing")
PLAIN = Value("plain", HOST)


_NO_PARTS = UNKNOWN[4:]


def tensor(device: str, because: str, confidence: Confidence = Confidence.CERTAIN) -> Value:
    """A tensor."""
    return _new(Value, ("tensor", device, because, confidence, *_NO_PARTS))


def sequence(item: Value, items: tuple[Value, ...] = ()) -> Value:
    """A list, tuple, dict of, or iterator over `item`."""
    return _new(Value, ("sequence", item.device, item.because, item.confidence, item, items, *_NO_PARTS[2:]))


_MAPPING = Thing("external", dotted="builtins.dict()")


def mapping(item: Value, entries: tuple[tuple[str, Value], ...] = ()) -> Value:
    """A dict of `item`: what a loop over it gets are its keys."""
    return sequence(item)._replace(thing=_MAPPING, entries=entries)


def is_mapping(value: Value) -> bool:
    """Whether iterating a sequence gives keys."""
    return value.kind == "sequence" and value.thing == _MAPPING


def join(values: Iterable[Value]) -> Value:
    """What is known when any of `values` may be the one.

    A tensor beside a plain number or None stays a tensor (`loss = 0`, then `loss = loss + f(x)`); beside something
    unknown it is a tensor with less confidence; beside an array or an object nothing is known.
    """
    found = [value for value in values if value.kind != "nothing"]
    if len(found) == 2:  # most often, and then one comparison is quicker than two hashes
        found = found[:1] if found[0] == found[1] else found
    elif len(found) > 2:
        found = list(dict.fromkeys(found))
    if not found:
        return NOTHING
    if len(found) == 1:
        return found[0]
    kinds = {value.kind for value in found}
    if len(kinds) == 1:
        return _same_kind(found)
    solid = [value for value in found if value.kind not in ("plain", "unknown")]
    if {value.kind for value in solid} == {"sequence", "tensor"} and all(map(_on_host, solid)):
        solid = [value for value in solid if value.kind == "sequence"]  # `if one: masks = masks[0]`
    if {value.kind for value in solid} == {"sequence", "batch"} and _are_batches(solid):
        solid = [value for value in solid if value.kind == "batch"]  # `if type(data) is not list: data = [data]`
    if len({value.kind for value in solid}) != 1:
        return _tensor_or_batch(found) if kinds <= {"tensor", "batch", "plain"} else UNKNOWN
    merged = _same_kind(solid)
    return _throughout(merged, Confidence.LIKELY) if "unknown" in kinds else merged


def _throughout(value: Value, confidence: Confidence) -> Value:
    """A value with at most `confidence`, and so all that it holds."""
    if value.kind != "sequence":
        return value.weaker(confidence)
    return value.weaker(confidence)._replace(
        item=_throughout(value.item, confidence) if value.item is not None else None,
        items=tuple(_throughout(part, confidence) for part in value.items),
        entries=tuple((key, _throughout(entry, confidence)) for key, entry in value.entries),
    )


def _on_host(value: Value) -> bool:
    whole = value if value.kind == "tensor" else value.item
    return whole is not None and whole.kind == "tensor" and whole.device == HOST


def _are_batches(solid: list[Value]) -> bool:
    """Whether all that is in the lists is a batch as well, and where the batches are: a batch may be a list itself."""
    devices = {value.device for value in solid if value.kind == "batch"}
    held = [value.item or UNKNOWN for value in solid if value.kind == "sequence"]
    return len(devices) == 1 and all(item.kind == "batch" and item.device in devices for item in held)


def _tensor_or_batch(found: list[Value]) -> Value:
    return _same_kind([value._replace(kind="tensor") for value in found if value.kind != "plain"])


def _same_kind(found: list[Value]) -> Value:
    devices = {value.device for value in found}
    weakest = max(found, key=lambda value: value.confidence.rank)
    device = devices.pop() if len(devices) == 1 else DEVICE if DEVICE in devices and HOST not in devices else ANYWHERE
    first = next((value for value in found if value.device == device and value.because), found[0])
    items = [value.item for value in found if value.item is not None]
    sizes = {len(value.items) for value in found}
    if len(sizes - {0}) > 1 and len({item.kind for value in found for item in value.items}) > 1:
        items = []  # `return points, sizes` of one branch, `return boxes, points, sizes` of another
    elements = (
        tuple(join(column) for column in zip(*(value.items for value in found), strict=True)) if len(sizes) == 1 else ()
    )
    # `x.cuda() if use_cuda else x` may have left where the argument is, whatever `x` is.
    borrowed = any(value.borrowed for value in found)
    borrowed = borrowed and not any(value.device == DEVICE and not value.borrowed for value in found)
    thing = first.thing if all(value.thing == first.thing for value in found) else None
    whole = join(items) if items else None
    origins = {origin for value in found for origin in value.origins}
    return _new(
        Value,
        (
            *(first.kind, device, first.because, weakest.confidence, whole, elements, _entries_of_any(found)),
            *(thing, borrowed, tuple(sorted(origins))[:8] if origins else (), first.levels),
        ),
    )


def _entries_of_any(found: list[Value]) -> tuple[tuple[str, Value], ...]:
    """What each key stands for in any of some dicts; nothing where one of them is not written out."""
    if not all(value.entries for value in found):
        return ()
    keys = dict.fromkeys(key for value in found for key, _ in value.entries)
    return tuple((key, join(v for value in found for k, v in value.entries if k == key)) for key in keys)


def alike(one: Value | None, other: Value | None) -> bool:
    """Whether two values say the same, whatever their reasons."""
    if one is other or one is None or other is None:
        return one is other
    if _said(one) != _said(other):
        return False
    parts = [(one.item, other.item), *zip(one.items, other.items, strict=True)]
    mine, theirs = dict(one.entries), dict(other.entries)
    parts += [(mine[key], theirs.get(key)) for key in mine]
    return len(mine) == len(theirs) and all(alike(*each) for each in parts)


def _said(value: Value) -> tuple[object, ...]:
    return value.kind, value.device, value.confidence, value.thing, value.borrowed, value.levels, len(value.items)


def unpacked(value: Value, index: tuple[int, ...]) -> Value:
    """What `a, (b, c) = value` binds at one position; tensors and batches unpack into their like."""
    for position in index:
        if value.kind == "sequence":
            value = value.items[position] if position < len(value.items) else value.item or UNKNOWN
        elif value.kind not in ("tensor", "batch", "array", "plain", "nothing"):
            return UNKNOWN
    return value


def left_over(value: Value, index: tuple[int, ...]) -> Value:
    """What `a, *rest = value` binds: the parts from the last position of `index` on."""
    *above, first = index
    value = unpacked(value, tuple(above))
    if value.kind == "sequence":
        return sequence(join(list(value.items[first:])) if value.items[first:] else value.item or UNKNOWN)
    return sequence(value) if value.kind in ("tensor", "batch", "array", "plain") else UNKNOWN


def as_called(value: Value, arguments: list[Value]) -> Value:
    """What a function returned, for one call: where the device is a parameter's, that of the arguments."""
    if value.kind == "sequence":
        if not _is_lent_within(value):
            return value
        item = as_called(value.item, arguments) if value.item is not None else None
        entries = tuple((key, as_called(entry, arguments)) for key, entry in value.entries)
        return value._replace(
            item=item, items=tuple(as_called(part, arguments) for part in value.items), entries=entries
        )
    if value.kind != "tensor" or not value.borrowed:
        return value
    tensors = [argument for argument in arguments if argument.kind in ("tensor", "batch")]
    if not tensors and (is_passed(value) or (arguments and all(map(_is_plain_throughout, arguments)))):
        return UNKNOWN  # handed through from another call: `cast_tuple(logits)` says nothing of `cast_tuple(span)`
    devices = {argument.device for argument in tensors}
    device = DEVICE if DEVICE in devices else HOST if devices == {HOST} else ANYWHERE
    return value._replace(device=device, borrowed=any(argument.borrowed for argument in tensors))


def _is_plain_throughout(value: Value) -> bool:
    """Whether something is plain, or a list or tuple of what is."""
    whole = value.item if value.kind == "sequence" else value
    return whole is not None and whole.kind == "plain"


def _is_lent_within(value: Value) -> bool:
    """Whether the device of a tensor, or of one that a sequence holds, is that of a parameter."""
    if value.kind != "sequence":
        return value.kind == "tensor" and value.borrowed
    held = (value.item, *value.items, *(entry for _, entry in value.entries))
    return any(_is_lent_within(part) for part in held if part is not None)


def told(name: str, because: str, line: int) -> str:
    """`because` with the name and line it holds for; the innermost telling is kept."""
    return because if because.startswith("`") and " (line " in because else f"`{name}` (line {line}) is {because}"
