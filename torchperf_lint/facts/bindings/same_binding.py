"""Whether a name stands for one thing at two places of a function: `x` is not what `x = torch.cat(x)` makes of it."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.bound_alike import bound_on_every_way
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain

_LINE_END = 10**6
_DEPTH = 4
"""Bindings of a name, each made of the one before, through which what it was is followed."""


def is_same(body: Body, function: int, name: str, at: Position, line: int) -> bool:
    """Whether what a name is on a line, or what that was made of by operations, may be what it is at a place.

    A chain, `self.x`, is not followed: it counts as the same.
    """
    here = body.reaching(function, name, at) if "." not in name and "[" not in name else None
    if here is None:
        return True
    if here and all(_is_of_the_host(name, d) for d in here):
        return False  # `x = x.cpu().numpy()`: what asks a tensor is said of what `x` was before
    # What a line uses and binds, `x = F.relu(x)`, is what it was before that line.
    return any(_comes_from(body, function, name, set(here), (line, column), _DEPTH) for column in (1, _LINE_END))


def _comes_from(body: Body, function: int, name: str, wanted: set[Definition], at: Position, depth: int) -> bool:
    """Whether one of the wanted bindings, or the parameter itself where there is none, may hold at a place."""
    there = body.reaching(function, name, at) or []
    if not wanted and not (there and bound_on_every_way(body, there, function, at)):
        return True
    if wanted & set(there):
        return True
    made = [d for d in there if depth and _is_made_of(name, d)]
    return any(_comes_from(body, function, name, wanted, d.at, depth - 1) for d in made)


def _is_of_the_host(name: str, definition: Definition) -> bool:
    """Whether a binding is what a name was, as an array, a list or a number."""
    value = definition.value if definition.how == "assign" else None
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr in ("numpy", "tolist", "item")
        and _head(value) == name
    )


def _is_made_of(name: str, definition: Definition) -> bool:
    """`x = x.float()`, `x = x / n`, `x += 1`, `x = x[0]`: what is a tensor now was one before.

    `x, single = batched(x)` too: what gives several things back gives what it was given, in the form it needs.
    """
    if definition.how == "augmented":
        return True
    if definition.how == "item" and isinstance(definition.value, ast.Call):
        return any(isinstance(argument, ast.Name) and argument.id == name for argument in definition.value.args)
    value = definition.value if definition.how == "assign" else None
    if isinstance(value, ast.BinOp):
        return name in (_head(value.left), _head(value.right))
    return value is not None and _head(value) == name


def _head(node: ast.expr) -> str:
    """`x` of `x.view(-1)[0].float()`; empty where an expression begins with none."""
    while isinstance(node, ast.Call | ast.Attribute | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(node, ast.Name):
            break
    return chain(node) if isinstance(node, ast.Name) else ""
