"""Lists of numbers that an object holds since it was built, and indexes with: torch makes a tensor of them each time.

    self.angular = tuple(dims)                     # also `list(dims)`, `[2, 0, 1]`, a default `dims=(0, 1)`
    q[..., self.angular]                           # a list beside other indices
    q[self.angular]                                # of a tuple alone each element is an index of its own: no copy
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.constants.held import builds, changed_in, given_as_list, set_from_outside, set_in_constructors
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

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
    return {_kind(values, key, value) for key, value in set_in_constructors(values, own, index)}


def _kind(values: Values, constructor: FunctionKey, value: ast.expr | None) -> type[ast.expr] | None:
    if isinstance(value, ast.Name):
        value = _default(values, constructor, value)
    if isinstance(value, ast.List | ast.Tuple):
        numbers = value.elts and all(isinstance(part, ast.Constant) and type(part.value) is int for part in value.elts)
        return type(value) if numbers else None
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return None
    name = chain(value.func)
    if name in _LISTS | _TUPLES and _was_a_tensor(values, constructor, value.args[0]):
        return None
    return ast.List if name in _LISTS else ast.Tuple if name in _TUPLES else None


def _default(values: Values, constructor: FunctionKey, name: ast.Name) -> ast.expr | None:
    """What a parameter of the constructor is unless it is given; None where it is bound anew before."""
    body = values.body(constructor.path)
    if body is None or body.reaching(constructor.index, name.id, body.at(name)):
        return None
    return default_of(body.functions.get(constructor.index), name.id)


def _was_a_tensor(values: Values, constructor: FunctionKey, node: ast.expr) -> bool:
    """`dims = torch.tensor(dims).cuda()` before `list(dims)`: its elements may lie on the device."""
    body = values.body(constructor.path)
    frame = Frame(constructor.path, constructor.index, body.at(node)) if body is not None else None
    return frame is not None and values.of(node, frame).kind == "tensor"
