"""Indices that are one number, as is shown by what the function asks of what they pick."""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.tracing import parts_of
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.dimensions import dimensions
from torchperf_lint.patterns import pattern

_NUMBERS = frozenset({"float", "int", "bool"})
INDEX_NAME = pattern(
    r"(?:^|_)(?:idxs?|ind|inds|index|indexes|indices|lengths?|lens?|order|perm|perms|pos|positions?)(?:_|$)"
)
"""Names of tensors of indices, of which each element has the same shape; those of masks are left out."""


def picks_one(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether a function asks `x[index]` for one truth value or number somewhere: `if taken[order[i]]:`.

    Of an index with several numbers it would get as many elements, which have no one truth.
    """
    parents = file.enclosing(place.function).parents
    alike = (n for n in parents if isinstance(n, ast.Subscript) and _is_alike(n.slice, index))
    return any(_asked_for_one(node, parents) for node in alike)


def is_one(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether a function asks an expression itself for one number: `int(delays[i])` beside `x[:, delays[i]]`."""
    parents = file.enclosing(place.function).parents
    alike = (n for n in parents if n is not node and _is_alike(n, node))
    return any(_asked_for_one(other, parents) for other in alike)


def walks_numbers(file: SourceFile, place: Place, node: ast.Name) -> bool:
    """Whether a name goes over the numbers of one tensor, as what the function reads of it shows: `i.item()`.

    Rows with one number each, which the turns of a loop over `mask.nonzero()` get, are read the same, and pick as
    tensors do.
    """
    body = file.project.body(file.path)
    found = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
    if not found or len(found) != 1 or found[0].how != "loop" or found[0].value is None:
        return False
    loops = [loop for loop in file.enclosing(place.function).loops(node) if loop.iter is found[0].value]
    walked = [part for loop in loops for name, part in parts_of(loop.target, loop.iter) if name == node.id]
    if not walked or file.value(walked[0], place).kind != "tensor":
        return False
    rows = dimensions(file.project.values, walked[0], place.frame)
    return rows in (None, 1) and not _gives_places(file, place, walked[0]) and is_one(file, place, node)


def _gives_places(file: SourceFile, place: Place, node: ast.expr) -> bool:
    body = file.project.body(file.path)
    if isinstance(node, ast.Name) and body is not None:
        node = body.assigned_once(place.function, node.id, body.at(node)) or node
    parts = (n for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(last_part(chain(part.func)) in ("nonzero", "argwhere") for part in parts)


def _is_alike(node: ast.AST, other: ast.expr) -> bool:
    """Whether two expressions are written the same; their chains tell most of them apart in less time."""
    return type(node) is type(other) and chain(node) == chain(other) and ast.dump(node) == ast.dump(other)


def _asked_for_one(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    parent = parents.get(node)
    if isinstance(parent, ast.Compare) and isinstance(parent.ops[0], ast.Lt | ast.Gt | ast.LtE | ast.GtE | ast.Eq):
        others = (parent.left, *parent.comparators)
        if not all(other is node or isinstance(other, ast.Constant) for other in others):
            return False
        node, parent = parent, parents.get(parent)
    if isinstance(parent, ast.If | ast.While | ast.IfExp | ast.Assert):
        return parent.test is node
    if isinstance(parent, ast.UnaryOp):
        return isinstance(parent.op, ast.Not)
    if isinstance(parent, ast.Attribute):
        return parent.attr == "item"
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _NUMBERS
    return isinstance(parent, ast.BoolOp)


def is_element(file: SourceFile, place: Place, node: ast.Subscript) -> bool:
    """`perm[b][c]`, `order[b, c]` of the variables of two loops: an element of a table of indices."""
    taken: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        taken += base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
        base = base.value
    if len(taken) != _AXES or not INDEX_NAME.search(last_part(chain(base))):
        return False
    turning = {n.id for loop in file.enclosing(place.function).loops(node) for n in _names(loop.target)}
    return all(isinstance(part, ast.Name) and part.id in turning for part in taken)


def _names(target: ast.expr) -> list[ast.Name]:
    return [node for node in ast.walk(target) if isinstance(node, ast.Name)]


_AXES = 2
"""A table has rows and columns; of an index with one variable nobody knows that it gives one number."""
