"""Lists of numbers that an object holds since it was built, and indexes with: torch makes a tensor of them each time.

    self.angular = tuple(dims)                     # also `list(dims)`, `[2, 0, 1]`, a default `dims=(0, 1)`
    q[..., self.angular]                           # a list beside other indices
    q[self.angular]                                # of a tuple alone each element is an index of its own: no copy
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.held import builds, changed_in, given_as_list, set_by_constructors, set_from_outside
from torchperf_lint.facts.hints import default_of
from torchperf_lint.facts.index import Thing
from torchperf_lint.facts.spots import Spot
from torchperf_lint.facts.values import Values

_LISTS, _TUPLES = frozenset({"list", "sorted"}), frozenset({"tuple"})


def holds_a_list(spot: Spot, index: ast.Attribute) -> bool:
    """Whether an attribute of `self` is such a list, for the subscript that it stands in."""
    values = spot.file.project.values
    own = values.index.class_of(spot.file.path, spot.function)
    if own is None or values.thing(index.value, spot.frame) != own:
        return False
    kinds = _kinds(values, own, index)
    alone = isinstance(spot.expression, ast.Subscript) and spot.expression.slice is index
    if alone and ast.Tuple in kinds:
        return False
    if None not in kinds and kinds:
        return True
    if spot.file.value(index, spot).kind != "sequence" and not given_as_list(values, own, index.attr):
        return False
    setters = [key for cls in values.index.ancestry(own) for key in changed_in(values, cls, index.attr)]
    return bool(setters) and all(builds(values, key) for key in setters) and not set_from_outside(values, own, index)


def _kinds(values: Values, own: Thing, index: ast.Attribute) -> set[type[ast.expr] | None]:
    """`ast.List` and `ast.Tuple` for what constructors set an attribute to; None for what is not known to be either."""
    return {_kind(values, own, value) for value in set_by_constructors(values, own, index)}


def _kind(values: Values, own: Thing, value: ast.expr | None) -> type[ast.expr] | None:
    if isinstance(value, ast.Name):
        value = _default(values, own, value.id)
    if isinstance(value, ast.List | ast.Tuple):
        numbers = value.elts and all(isinstance(part, ast.Constant) and type(part.value) is int for part in value.elts)
        return type(value) if numbers else None
    name = chain(value.func) if isinstance(value, ast.Call) and len(value.args) == 1 else ""
    return ast.List if name in _LISTS else ast.Tuple if name in _TUPLES else None


def _default(values: Values, own: Thing, name: str) -> ast.expr | None:
    """What a parameter of the constructor is unless it is given."""
    for cls in values.index.ancestry(own):
        body = values.body(cls.path) if cls.kind == "class" else None
        number = values.index.record(cls).methods.get("__init__") if body is not None else None
        found = default_of(body.functions.get(number), name) if body is not None and number is not None else None
        if found is not None:
            return found
    return None
