"""Where a function uses one index: how often an index in host memory is copied to the device."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import DEVICE


def name_below(index: ast.expr) -> ast.Name | None:
    """The name that an index is, is an axis of, or is what a method gives: `rows`, `coords[:, 0]`, `rows.long()`."""
    while True:
        if isinstance(index, ast.Call) and isinstance(index.func, ast.Attribute):
            index = index.func.value
        elif isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Slice | ast.Tuple):
            index = index.value
        else:
            return index if isinstance(index, ast.Name) else None


def parts_of_index(spot: Spot, index: ast.expr) -> list[ast.expr]:
    """The parts of an index: `at = rows, columns` and `x[at]` as `x[rows, columns]`."""
    if isinstance(index, ast.Tuple):
        return index.elts
    body = spot.file.project.body(spot.file.path)
    if isinstance(index, ast.Name) and body is not None:
        value = body.assigned_once(spot.function, index.id, body.at(index))
        if isinstance(value, ast.Tuple):
            return value.elts
    return [index]


def are_tuples_of_arrays(bound: list[ast.expr]) -> bool:
    """`np.where(x > 0)`, `np.nonzero(x)`, `x.nonzero()`: one array for each dimension."""
    calls = [value for value in bound if isinstance(value, ast.Call)]
    return bool(calls) and len(calls) == len(bound) and all(map(_gives_one_for_each_dimension, calls))


def _gives_one_for_each_dimension(call: ast.Call) -> bool:
    name = last_part(chain(call.func))
    return name == "nonzero" or (name == "where" and len(call.args) == 1 and not call.keywords)


def turns_inside(spot: Spot, index: ast.Name, beside: ast.Tuple) -> bool:
    """Whether a loop inside the step binds an index and one beside it anew each turn: `for i, rows in enumerate(x)`.

    Of a name alone, `for i in rows`, nobody knows that it is no number. The step loop itself is none inside.
    """
    hot = spot.hot
    here = hot.loop is not None and hot.loop[0] == spot.file.path
    head = spot.file.outline.regions[hot.loop[1]].head if here and hot.loop is not None else None
    others = {part.id for part in beside.elts if isinstance(part, ast.Name)} - {index.id}
    for loop in spot.file.enclosing(spot.function).loops(index):
        bound = names_of(loop.target)
        if isinstance(loop, ast.For) and loop.lineno != head and index.id in bound and others & bound:
            return True
    return False


def used_again(spot: Spot, index: ast.Name) -> bool:
    """Whether more than one thing that may be on the device is indexed by a name, or one thing after the other."""
    around = spot.file.enclosing(spot.function)
    body = spot.file.project.body(spot.file.path)
    reaching = (body.reaching(spot.function, index.id, body.at(index)) or []) if body is not None else []
    bound = [d.at[0] for d in reaching]
    uses = 0
    for node in around.parents:
        if not isinstance(node, ast.Subscript) or not _is_indexed_by(node, index.id):
            continue
        there = spot.at(node)
        value = spot.file.value(node.value, there)
        if value.kind in ("array", "sequence", "plain") or (value.kind == "tensor" and value.device != DEVICE):
            continue
        uses += 2 if turns_with(spot, node, bound) else 1
    return uses > 1


def copied_once(spot: Spot, index: ast.Name, tensor_of_it: str, options: str = "", each: str = "") -> str:
    """One copy for several uses: under another name, where what some of them index may be on the host.

    `{device}` stands for the device; `each` for the name of one of several arrays, of which the index is a tuple.
    """
    copy = f"{tensor_of_it}.to({{device}}{options})"
    copy = f"tuple({copy} for {each} in {index.id})" if each else copy
    if only_on_device(spot, index):
        return f"copy it once for all its uses: `{index.id} = {copy}`"
    return (
        f"copy it once, under another name, and index with that what is on the device: `{index.id}_there = {copy}`"
    )


def only_on_device(spot: Spot, index: ast.Name) -> bool:
    """Whether all that a name, as it is bound here, is used for is to index what is known to be on the device.

    A copy of an index may take its name only then: `x[rows]` raises where `x` is on the host and `rows` is not.
    """
    body, around = spot.file.project.body(spot.file.path), spot.file.enclosing(spot.function)
    if body is None:
        return False
    bound = {d.at for d in body.reaching(spot.function, index.id, body.at(index)) or ()}
    for use in body.reads(spot.function, index.id):
        if bound.isdisjoint(d.at for d in body.reaching(spot.function, index.id, body.at(use)) or ()):
            continue
        above = (n for n in around.ancestors(use) if isinstance(n, ast.Subscript) and _is_indexed_by(n, index.id))
        indexed = next(above, None)
        if indexed is None:
            return False
        value = spot.file.value(indexed.value, spot.at(indexed))
        if value.kind != "tensor" or value.device != DEVICE:
            return False
    return True


def _is_indexed_by(node: ast.Subscript, name: str) -> bool:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any((below := name_below(part)) is not None and below.id == name for part in parts)


def turns_with(spot: Spot, node: ast.Subscript, bound: list[int]) -> bool:
    """Whether a loop that does not bind the index turns around a subscript of something else in each turn."""
    base = names_of(node.value)
    for loop in spot.file.enclosing(spot.function).loops(node):
        first = loop.target.lineno
        inside = any(first <= line <= _end(loop) for line in bound)
        if not inside and base & names_of(loop.target):
            return True
    return False


def _end(loop: ast.For | ast.AsyncFor | ast.comprehension) -> int:
    return (loop.iter if isinstance(loop, ast.comprehension) else loop).end_lineno or 0
