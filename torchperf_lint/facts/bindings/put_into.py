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
    """What is put into elements of elements: `rows[i][k] = value`."""
    return [value for target, value in written_into(body, function, name) if isinstance(target.value, ast.Subscript)]


def places(target: ast.expr) -> Iterator[ast.expr]:
    """The indices and bounds that say where something is put: `i`, `a` and `b` of `rows[i, a:b]`."""
    while isinstance(target, ast.Subscript):
        for part in target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]:
            bounds = (part.lower, part.upper, part.step) if isinstance(part, ast.Slice) else (part,)
            yield from (bound for bound in bounds if bound is not None)
        target = target.value
