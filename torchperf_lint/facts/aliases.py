"""Calls of names that stand for functions: `T = cuda.FloatTensor if use else FloatTensor`, partials, lambdas."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from torchperf_lint.facts.attributes import setters
from torchperf_lint.facts.externals import value_of_external
from torchperf_lint.facts.hints import default_of
from torchperf_lint.facts.value import ANYWHERE, HOST, Frame, Value, join

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

MAX_HOPS = 6
"""Names followed before a function counts as unknown."""


def called_through(values: Values, node: ast.Call, frame: Frame) -> Value | None:
    """What a call through another name gives, whichever of its functions is meant; None where one is unknown."""
    if frame.hops > MAX_HOPS:
        values.cut_off()
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
    """What a name or an attribute of `self` is bound to, with the place of each binding."""
    body = values.body(frame.path)
    if isinstance(function, ast.Name) and body is not None:
        scope, at = frame.function, frame.at
        while scope >= 0:
            reaching = body.reaching(scope, function.id, at)
            if reaching is not None:
                for d in reaching:
                    if d.how == "assign" and d.value is not None:
                        yield d.value, frame.hop(frame.path, scope, body.at(d.value))
                    else:
                        yield function, frame
                return
            default = default_of(body.functions.get(scope), function.id)
            if default is not None:
                yield default, frame.hop(frame.path, scope, frame.at)
                return
            scope, at = values.index.outlines[frame.path].functions[scope].parent, (10**9, 1)
    elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        owner = values.of(function.value, frame).thing
        classes = values.index.ancestry(owner) if owner is not None and owner.kind == "instance" else ()
        for cls in classes:
            for method, expression, _ in setters(values, cls, function.attr) if cls.kind == "class" else ():
                other = values.body(cls.path)
                assert other is not None
                # What a constructor is given for a function is, most often, of the kind of its default.
                default = default_of(other.functions.get(method), expression.id) if _is_name(expression) else None
                yield default or expression, frame.hop(cls.path, method, other.at(expression))


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _call_of(values: Values, node: ast.Call, function: ast.expr, home: Frame, frame: Frame) -> Value | None:
    if isinstance(function, ast.Lambda):
        body = values.body(home.path)
        if body is None:
            return None
        return _where_given(values, node, values.of(function.body, home._replace(at=body.at(function.body))), frame)
    if isinstance(function, ast.Call) and function.args:
        thing = values.thing(function.func, home)
        if thing is None or thing.dotted != "functools.partial":
            return None
        given = {k.arg for k in node.keywords}
        keywords = [*(k for k in function.keywords if k.arg not in given), *node.keywords]
        made = _external(values, function.args[0], [*function.args[1:], *node.args], keywords, node, home, frame)
        # The call shows only some of the arguments: whoever looks there for the others must not.
        return replace(made, origins=()) if made is not None else None
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


def _is_chain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
