"""Expressions with something else in place of their names: the body of a lambda with what a call gives it."""

from __future__ import annotations

import ast
import copy


class _Substitutes(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def body_with(function: ast.Lambda, call: ast.Call) -> ast.expr | None:
    """The body of a lambda with the arguments of a call in it; None where not every parameter is given one by place."""
    names = [argument.arg for argument in function.args.args]
    if call.keywords or len(names) != len(call.args) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given = dict(zip(names, call.args, strict=True))
    body: ast.expr = _Substitutes(given).visit(copy.deepcopy(function.body))
    return body


def first_of(iterable: ast.expr) -> ast.expr:
    """`xs[0]`: what a function that goes through `xs` is given, as far as what it is goes."""
    index = ast.copy_location(ast.Constant(0), iterable)
    return ast.copy_location(ast.Subscript(value=iterable, slice=index, ctx=ast.Load()), iterable)


def call_of_each(function: ast.expr, iterables: list[ast.expr], place: ast.expr) -> ast.Call:
    """`f(xs[0], ys[0])` of `map(f, xs, ys)`."""
    call = ast.Call(func=function, args=[first_of(each) for each in iterables], keywords=[])
    return ast.copy_location(call, place)


def named_attribute(node: ast.Call) -> ast.Attribute | None:
    """`model.fc` of `getattr(model, "fc")`; None for other calls, and where the name is not written out."""
    if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) < 2:
        return None
    name = node.args[1]
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return None
    return ast.copy_location(ast.Attribute(value=node.args[0], attr=name.value, ctx=ast.Load()), node)


def call_of_named(node: ast.Call) -> ast.Call | None:
    """`model.fc(x)` of `getattr(model, "fc")(x)`; None for other calls."""
    named = named_attribute(node.func) if isinstance(node.func, ast.Call) else None
    if named is None:
        return None
    return ast.copy_location(ast.Call(func=named, args=node.args, keywords=node.keywords), node)
