"""Expressions with something else in place of their names: the body of a lambda with what a call gives it."""

from __future__ import annotations

import ast
import copy

from torchperf_lint.facts.syntax.literals import is_text
from torchperf_lint.facts.syntax.written_names import written_name


class _Substitutes(ast.NodeTransformer):
    def __init__(self, given: dict[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.given.get(node.id, node)


def body_with(function: ast.Lambda, call: ast.Call) -> ast.expr | None:
    """The body of a lambda with the arguments of a call in it; None where not every parameter is given one by place."""
    return result_with(function.body, [argument.arg for argument in function.args.args], call)


def result_with(result: ast.expr, names: list[str], call: ast.Call) -> ast.expr | None:
    """What a function of these parameters gives back, with the arguments of a call in it; None as for a lambda."""
    if call.keywords or len(names) != len(call.args) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    given = dict(zip(names, call.args, strict=True))
    substituted: ast.expr = _Substitutes(given).visit(copy.deepcopy(result))
    return substituted


def first_of(iterable: ast.expr) -> ast.expr:
    """`xs[0]`: what a function that goes through `xs` is given, as far as what it is goes."""
    index = ast.copy_location(ast.Constant(0), iterable)
    return ast.copy_location(ast.Subscript(value=iterable, slice=index, ctx=ast.Load()), iterable)


def call_of_each(function: ast.expr, iterables: list[ast.expr], place: ast.expr) -> ast.Call:
    """`f(xs[0], ys[0])` of `map(f, xs, ys)`."""
    call = ast.Call(func=function, args=[first_of(each) for each in iterables], keywords=[])
    return ast.copy_location(call, place)


def named_attribute(node: ast.Call) -> ast.Attribute | None:
    """`model.fc` of `getattr(model, "fc")`; None for other calls, and where nothing of the name is written out.

    A name that is put together, `f"index_{i}"`, is one for all: `index_{}`, as effects.py calls what is registered so.
    """
    if not isinstance(node.func, ast.Name) or node.func.id != "getattr" or len(node.args) < 2:
        return None
    name = written_name(node.args[1])
    return ast.copy_location(ast.Attribute(value=node.args[0], attr=name, ctx=ast.Load()), node) if name else None


def call_of_named(node: ast.Call) -> ast.Call | None:
    """`model.fc(x)` of `getattr(model, "fc")(x)`; None for other calls."""
    named = named_attribute(node.func) if isinstance(node.func, ast.Call) else None
    if named is None or not named.attr.isidentifier():
        return None
    return ast.copy_location(ast.Call(func=named, args=node.args, keywords=node.keywords), node)


def entry_by_get(node: ast.Call) -> ast.Subscript | None:
    """`inputs["labels"]` of `inputs.get("labels")`; None for other calls, and where something stands in for it."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr != "get" or node.keywords:
        return None
    if len(node.args) != 1 or not is_text(node.args[0]):
        return None
    return ast.copy_location(ast.Subscript(value=function.value, slice=node.args[0], ctx=ast.Load()), node)
