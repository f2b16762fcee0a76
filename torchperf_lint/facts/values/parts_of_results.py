"""One of several values that a call gives: a field of a record, an element of what a helper returns.

    lo, hi = make_filters(wavelet)             filters = Filters.of(wavelet)
    lo = lo.to(x.device)                       lo = filters.lo.to(x.device)

Where the call makes a record of the project itself, `Pair(lo, hi)`, the part is its argument.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.syntax.arguments import unpacks_keywords
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_HOPS = 2
"""Calls between the place and what makes the parts: `Filters.of(...)` calls `cls(...)`."""
_RECORDS = frozenset({"typing.NamedTuple"})
Parts = list[tuple[ast.expr, Frame]]
"""Expressions, each with where it stands."""
_Part = int | str
"""Which: the 0-based place, or the name of a field."""


def part_of_result(values: Values, d: Definition, part: _Part, frame: Frame) -> Parts | None:
    """What a part of what a binding holds is, in each way that its call returns; None where one is unknown."""
    body = values.body(frame.path)
    if body is None or not isinstance(d.value, ast.Call):
        return None
    return _of_call(values, d.value, part, frame.back(body.at(d.value)), _HOPS)


def field_of_result(values: Values, node: ast.Attribute, frame: Frame) -> Parts | None:
    """What a field of a record is that the function's own code made or was given back: `filters.lo`."""
    found: Parts = []
    for d in _bindings(values, node, frame):
        more = part_of_result(values, d, node.attr, frame) if d.how == "assign" else None
        if more is None:
            return None
        found += more
    return found or None


def is_field_of_result(values: Values, node: ast.Attribute, frame: Frame) -> bool:
    """Whether an expression may be a field of what a call gave, as far as its name's bindings tell."""
    return any(d.how == "assign" and isinstance(d.value, ast.Call) for d in _bindings(values, node, frame))


def _bindings(values: Values, node: ast.Attribute, frame: Frame) -> tuple[Definition, ...]:
    body = values.body(frame.path)
    if body is None or not isinstance(node.value, ast.Name):
        return ()
    return tuple(body.reaching(frame.function, node.value.id, frame.at) or ())


def _of_call(values: Values, call: ast.Call, part: _Part, frame: Frame, hops: int) -> Parts | None:
    record = _record_made(values, call, frame)
    if record is not None:
        given = _argument(values, call, part, record)
        return [(given, frame)] if given is not None else None
    targets = values.types.targets(frame.path, frame.function, chain(call.func))
    body = values.body(targets[0].path) if len(targets) == 1 and hops else None
    if body is None:
        return None
    path, function = targets[0]
    found: Parts = []
    for returned in body.returns(function):
        there = frame.hop(path, function, body.at(returned))
        if isinstance(returned, ast.Tuple) and isinstance(part, int):
            given = _element(returned, part)
            more = [(given, there)] if given is not None else None
        else:
            more = _of_call(values, returned, part, there, hops - 1) if isinstance(returned, ast.Call) else None
        if more is None:
            return None
        found += more
    return found or None


def _record_made(values: Values, call: ast.Call, frame: Frame) -> Thing | None:
    """The class of the record that a call makes, `cls(...)` in a method of the class, too."""
    thing = values.thing(call.func, frame)
    if thing is None or thing.kind != "class":
        return None
    tuples = bool(_RECORDS.intersection(values.index.external_bases(thing)))
    return thing if tuples or _is_dataclass(values, thing) else None


def _is_dataclass(values: Values, record: Thing) -> bool:
    """Whether a class takes its fields in their order, as `@dataclass` has it; with a base, others come first."""
    body, told = values.body(record.path), values.index.record(record)
    node = body.classes.get(told.line) if body is not None and not told.bases else None
    if node is None or "__init__" in told.methods:
        return False
    decorators = (d.func if isinstance(d, ast.Call) else d for d in node.decorator_list)
    return any(last_part(chain(d)) == "dataclass" for d in decorators)


def _argument(values: Values, call: ast.Call, part: _Part, record: Thing) -> ast.expr | None:
    body = values.body(record.path)
    if body is None or unpacks_keywords(call) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    names = list(body.annotated_fields(values.index.record(record).line))
    name = part if isinstance(part, str) else names[part] if part < len(names) else None
    if name not in names:
        return None
    place = names.index(name)
    if place < len(call.args):
        return call.args[place]
    return next((k.value for k in call.keywords if k.arg == name), None)


def _element(several: ast.Tuple, place: int) -> ast.expr | None:
    """One of the values that are written out: `return lo, hi`."""
    spread = any(isinstance(one, ast.Starred) for one in several.elts)
    return several.elts[place] if place < len(several.elts) and not spread else None
