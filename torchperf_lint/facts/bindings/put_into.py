"""What code puts into the elements of what a name stands for: `name[...] = value`, `name[0][i] += value`."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings.bodies import Body


def written_into(body: Body, function: int, name: str) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    """(the subscript, what is put there) for each `name[...] = value` of a function, `name[0][i] += value` too."""
    if body.definitions(function).get(name):
        yield from ((target, value) for of, target, value in body.element_stores(function) if of == name)


def put_below(body: Body, function: int, name: str) -> list[ast.expr]:
    """What is put into elements of elements, `rows[i][k] = value`; of `rows[i].append(value)` the place, too."""
    found = [value for target, value in written_into(body, function, name) if isinstance(target.value, ast.Subscript)]
    return [*found, *_given_to_elements(body, function, name)]


def _given_to_elements(body: Body, function: int, name: str) -> Iterator[ast.expr]:
    """What statements give the lists in a list or table, and by which index or key: `named[lag].append(value)`."""
    if not body.definitions(function).get(name):
        return
    for statement in body.statements(function):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in _FILLS:
            continue
        element = call.func.value
        if isinstance(element, ast.Subscript) and isinstance(element.value, ast.Name) and element.value.id == name:
            yield from call.args
            if not isinstance(element.slice, ast.Constant):
                yield element.slice


_FILLS = frozenset({"append", "extend", "insert", "add", "update"})
"""Methods that put something into a list, a set or a table."""


def places(target: ast.expr) -> Iterator[ast.expr]:
    """The indices and bounds that say where something is put: `i`, `a` and `b` of `rows[i, a:b]`."""
    while isinstance(target, ast.Subscript):
        for part in target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]:
            bounds = (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (part,)
            yield from (bound for bound in bounds if bound is not None)
        target = target.value
