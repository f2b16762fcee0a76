"""Tensors that are read on the host a second time, though a line before has fetched all of them.

words.append(decode(x.tolist()))
if x.item() == stop:            # waits again, for what `x.tolist()` gave
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain

_READS = frozenset({"item", "tolist", "cpu"})
_NUMBERS = frozenset({"int", "float", "bool"})


def read_before(place: Place) -> bool:
    """Whether what a call reads, or the tensor that it is a part of, was read on the way to here and is the same."""
    name = _read_by(place.expression, parts=True)
    body = place.file.project.body(place.file.path)
    if name is None or body is None:
        return False
    at = body.at(name)
    bound, block = body.reaching(place.function, name.id, at), body.block_of(place.function, at)
    around = place.file.enclosing(place.function)
    for call in around.of_kinds((ast.Call,)):
        earlier = _read_by(call, parts=False)
        if earlier is None or earlier.id != name.id or call is place.expression:
            continue
        there = body.at(earlier)
        passed = body.block_of(place.function, there)
        if there >= at or block[: len(passed)] != passed or not around.always_evaluated(call):
            continue
        same = body.reaching(place.function, name.id, there) == bound
        if same and not _changes(place, name.id, there[0], at[0]):
            return True
    return False


def _read_by(node: ast.AST, parts: bool) -> ast.Name | None:
    """The name that `x.item()`, `x.tolist()`, `x.cpu()`, `int(x)` read; with `parts` also that of `x[0].item()`."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    read: ast.expr | None = None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _READS and not node.args:
        read = node.func.value
    elif isinstance(node.func, ast.Name) and node.func.id in _NUMBERS and len(node.args) == 1:
        read = node.args[0]
    while isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) and read.func.attr == "detach":
        read = read.func.value
    while parts and isinstance(read, ast.Subscript):
        read = read.value
    return read if isinstance(read, ast.Name) else None


def _changes(place: Place, name: str, after: int, before: int) -> bool:
    """Whether anything between two lines writes into a tensor."""
    for node in place.file.enclosing(place.function).parents:
        if not after <= getattr(node, "lineno", 0) <= before:
            continue
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and chain(node.value) == name:
            return True
        if isinstance(node, ast.AugAssign) and chain(node.target).partition("[")[0] == name:
            return True
        called = node.func if isinstance(node, ast.Call) else None
        in_place = isinstance(called, ast.Attribute) and called.attr.endswith("_")
        if in_place and isinstance(called, ast.Attribute) and chain(called.value).partition("[")[0] == name:
            return True
    return False
