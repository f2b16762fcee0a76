"""What a method gives that a class leaves to those that derive from it: `images, sizes = self.process(batch)`.

    class Base(nn.Module):
        def evaluate(self, batch):
            x, sizes = self.process(batch)          # not defined here, or only to raise

    class Own(Base):
        def process(self, batch):
            return batch["x"].to(self.device), batch["sizes"].to(self.device)

Of which class the object is nobody can tell: what all of them give alike is what it gives. Where that rests on the
host, nothing is said: a batch that one class prepares another one moves.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.implementations import is_left_open
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.values.results import called
from torchperf_lint.facts.values.value import HOST, UNKNOWN, Frame, Value, join

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MOST = 8
"""Methods that are looked at: of more nobody expects to give the same."""


def of_stand_ins(values: Values, node: ast.Call, thing: Thing, name: str, frame: Frame) -> Value:
    """What a method of an object gives, by the classes below its own; UNKNOWN where the own class has one itself."""
    key = values.index.method(thing, name)
    if key is not None and not is_left_open(values.index, key):
        return UNKNOWN
    below = dict.fromkeys(_defined_below(values, thing, name, frame))
    found = [other for other in below if other is not None and other != key]
    if not 0 < len(found) <= _MOST:
        return UNKNOWN
    given = join([called(values, node, other, frame) for other in found])
    return UNKNOWN if _is_on_host(given) else given


def _is_on_host(value: Value) -> bool:
    """Whether any part is said to rest on the host: a batch that one class prepares may be moved by the next step."""
    parts = [*value.items, *(part for _, part in value.entries), *([value.item] if value.item is not None else [])]
    rests = value.kind in ("tensor", "batch") and value.device == HOST
    return rests or any(_is_on_host(part) for part in parts)


def _defined_below(values: Values, thing: Thing, name: str, frame: Frame) -> Iterator[FunctionKey | None]:
    """The methods of a name in the classes below one that get to the call: they do not replace its function."""
    own = values.index.class_of(frame.path, frame.function)
    inside = own is not None and (own.path, own.index) == (thing.path, thing.index)
    here = FunctionKey(frame.path, frame.function)
    caller = values.index.function(here).name
    for cls in values.index.below(thing):
        if not inside or values.index.method(cls, caller) == here:
            yield values.index.method(cls, name)
