"""Calls of names that stand for functions: `T = cuda.FloatTensor if use else FloatTensor`, partials, lambdas."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.hints import default_of
from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.syntax.substituted import body_with
from torchperf_lint.facts.values.bound_to import Bound, attribute_bound_to, name_bound_to
from torchperf_lint.facts.values.externals import value_of_external
from torchperf_lint.facts.values.results import returned
from torchperf_lint.facts.values.value import ANYWHERE, HOST, Frame, Value, join

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

MAX_HOPS = 6
"""Names followed before a function counts as unknown."""


def called_through(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """What a call through another name gives, whichever of its functions is meant; None where one is unknown."""
    if frame.hops > MAX_HOPS:
        return None
    found = []
    for bound, home in _bound(values, node.func, frame):
        for option in (bound.body, bound.orelse) if isinstance(bound, ast.IfExp) else (bound,):
            value = _call_of(values, node, option, home, frame)
            if value is None:
                return None
            found.append(value)
    return join(found) if found else None


def _bound(values: Values, function: ast.expr, frame: Frame) -> Iterator[tuple[ast.expr, Frame]]:
    """What a name or an attribute is bound to, with the place of each binding; itself, where that is unknown."""
    if isinstance(function, ast.Lambda):
        yield function, frame
    elif isinstance(function, ast.Name):
        for bound in name_bound_to(values, function.id, frame):
            yield bound.value or function, bound.frame
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = values.of(function.value, frame).thing
        if owner is None or owner.kind != "instance":
            return
        for bound in attribute_bound_to(values, owner, function.attr, frame):
            # What a constructor is given for a function is, most often, of the kind of its default.
            yield _default(values, bound) or bound.value or function, bound.frame


def _default(values: Values, bound: Bound) -> ast.expr | None:
    """Of `self.act = act`: the default of the parameter `act`."""
    body = values.body(bound.frame.path)
    if body is None or not isinstance(bound.value, ast.Name):
        return None
    return default_of(body.functions.get(bound.frame.function), bound.value.id)


def _call_of(values: Values, node: ast.Call, function: ast.expr, home: Frame, frame: Frame) -> Value | None:
    if isinstance(function, ast.Lambda):
        body = values.body(home.path)
        if body is None:
            return None
        gives = values.of(function.body, home._replace(at=body.at(function.body)))
        applied = body_with(function, node) if gives.kind == "unknown" and home.path == frame.path else None
        gives = values.of(applied, frame.deeper()) if applied is not None else gives
        return _where_given(values, node, gives, frame)
    if isinstance(function, ast.Call) and function.args:
        thing = values.thing(function.func, home)
        if thing is None or thing.dotted != "functools.partial":
            return None
        given = {k.arg for k in node.keywords}
        keywords = [*(k for k in function.keywords if k.arg not in given), *node.keywords]
        own = _own(values, function.args[0], home)
        if own is not None:
            return returned(values, own, frame)
        made = _external(values, function.args[0], [*function.args[1:], *node.args], keywords, node, home, frame)
        # The call shows only some of the arguments: whoever looks there for the others must not.
        return made._replace(origins=()) if made is not None else None
    return _external(values, function, node.args, node.keywords, node, home, frame)


def _where_given(values: Values, node: ast.Call, made: Value, frame: Frame) -> Value:
    """What a lambda gives: on the host, where all tensors that it was given are there."""
    if made.kind != "tensor" or made.device != ANYWHERE:
        return made
    given = [values.of(argument, frame.deeper()) for argument in node.args]
    devices = {value.device for value in given if value.kind in ("tensor", "batch")}
    return made.moved(HOST) if devices == {HOST} else made


def _external(
    values: Values,
    function: ast.expr,
    args: list[ast.expr],
    keywords: list[ast.keyword],
    node: ast.Call,
    home: Frame,
    frame: Frame,
) -> Value | None:
    """The value of a call of a function from outside the project."""
    things = values.types.things(home.path, home.function, ast.unparse(function)) if _is_chain(function) else ()
    if len(things) != 1 or things[0].kind != "external" or "()" in things[0].dotted:
        return None
    call = ast.copy_location(ast.Call(func=function, args=args, keywords=keywords), node)
    return value_of_external(values, call, things[0].dotted, frame.hop(frame.path, frame.function, frame.at))


def _own(values: Values, function: ast.expr, home: Frame) -> FunctionKey | None:
    """The function of the project that an expression stands for."""
    thing = values.thing(function, home) if _is_chain(function) else None
    return FunctionKey(thing.path, thing.index) if thing is not None and thing.kind == "function" else None


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
