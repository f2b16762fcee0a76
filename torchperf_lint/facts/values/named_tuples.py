"""Records that are tuples: what `Pair(x, y)` holds by the names of its fields and by their places."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.values.attributes import value_of_field
from torchperf_lint.facts.values.value import UNKNOWN, Frame, Value, join, sequence

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAKES = "collections.namedtuple()"
_NAMED_TUPLE = "typing.NamedTuple"
_FIELDS = 12
"""How many fields are looked at."""


def record_of(values: Values, node: ast.Call, thing: Thing | None, frame: Frame) -> Value | None:
    """What a call of `Pair = namedtuple("Pair", ["x", "y"])` makes; None for other calls."""
    if thing is None or thing.kind != "external" or thing.dotted != _MAKES or not isinstance(node.func, ast.Name):
        return None
    names = _fields(values, node.func.id, frame)
    if not names or any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords):
        return None
    given = dict(zip(names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg is not None}
    held = [(name, values.of(given[name], frame) if name in given else UNKNOWN) for name in names[:_FIELDS]]
    parts = tuple(value for _, value in held)
    return sequence(join(list(parts)), parts)._replace(entries=tuple(held))


def _fields(values: Values, name: str, frame: Frame) -> list[str]:
    """The names of the fields, where the file says them: `["x", "y"]`, `"x y"`."""
    body = values.body(frame.path)
    bound = body.definitions(0).get(name, ()) if body is not None else ()
    made = bound[0].value if len(bound) == 1 else None
    told = made.args[1] if isinstance(made, ast.Call) and len(made.args) > 1 else None
    if isinstance(told, ast.Constant) and isinstance(told.value, str):
        return told.value.replace(",", " ").split()
    parts = told.elts if isinstance(told, ast.List | ast.Tuple) else []
    return [part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)]


def as_parts(values: Values, value: Value, frame: Frame) -> Value:
    """A record of a class that derives from `NamedTuple`, as the tuple that it is; any other value as it is."""
    if value.kind != "object" or value.thing is None or value.thing.kind != "instance":
        return value
    cls = value.thing._replace(kind="class")
    body = values.body(cls.path) if _NAMED_TUPLE in values.index.external_bases(cls) else None
    if body is None:
        return value
    names = list(body.annotated_fields(values.index.record(cls).line))[:_FIELDS]
    parts = tuple(value_of_field(values, value, name, frame) for name in names)
    return sequence(join(list(parts)), parts) if parts else value
