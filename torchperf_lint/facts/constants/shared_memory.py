"""Expressions and names that are views of a tensor: what writes into one of them changes the tensor.

    flat = clip.view(-1)               clip.data[0].mul_(0.9)
    flat.mul_(0.9)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain

_NO_TENSOR = frozenset({"self", "cls"})
_MAX_NAMES = 10
"""Names of names that are followed."""


def viewed(node: ast.expr) -> ast.expr:
    """What a part or view is of: `clip` of `clip.data[0].view(-1)`."""
    while True:
        inner = node.value if isinstance(node, ast.Subscript) and not _is_key(node.slice) else without_views(node)
        if inner is node:
            return node
        node = inner


def _is_key(index: ast.expr) -> bool:
    """`out["boxes"]` is another tensor than `out["scores"]`."""
    return isinstance(index, ast.Constant) and isinstance(index.value, str)


def without_views(node: ast.expr) -> ast.expr:
    """The same with elements left as they are: `clip[0]` of `clip[0].detach().view(-1)`."""
    while True:
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr in api.VIEWS:
            node = called.value
        elif isinstance(node, ast.Attribute) and node.attr in api.VIEWED_AS and chain(node.value) not in _NO_TENSOR:
            node = node.value
        else:
            return node


def names_of_views(file: SourceFile, function: int, whole: ast.expr) -> set[str]:
    """A tensor as written, and the other names that the function has for it or for parts of it."""
    # Asked for each read in a loop; walked again each time, a long function would cost the square of its length.
    known = file.once(_bound_in_functions)
    if function not in known:
        known[function] = list(_bound(file, function))
    found = {chain(viewed(whole))}
    for _ in range(_MAX_NAMES):
        more = {name for name, of in known[function] if of in found} - found
        if not more:
            break
        found |= more
    return found


def _bound_in_functions(_: SourceFile) -> dict[int, list[tuple[str, str]]]:
    return {}


def _bound(file: SourceFile, function: int) -> Iterator[tuple[str, str]]:
    """(name, what it is a view of) for what a function binds to a name, an element or a view."""
    for node in file.enclosing(function).of_kinds((ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For)):
        if isinstance(node, ast.Assign):
            pairs = [pair for target in node.targets for pair in _one_by_one(target, node.value)]
        elif isinstance(node, ast.For):
            pairs = list(_one_by_one(node.target, node.iter))
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            pairs = [(node.target, node.value)]
        else:
            continue
        for target, value in pairs:
            of = viewed(value)
            if isinstance(of, ast.Name | ast.Attribute) and chain(target) != chain(of):
                yield chain(target), chain(of)


def _one_by_one(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What each part of a target is bound to: `a, b = x, y`, and `a, b = x.chunk(2)`, where both are of `x`."""
    if not isinstance(target, ast.Tuple | ast.List):
        yield target, value
        return
    spread = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
    for place, part in enumerate(target.elts):
        yield from _one_by_one(part, value.elts[place] if spread else value)  # type: ignore[attr-defined]
