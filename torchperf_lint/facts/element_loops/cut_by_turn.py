"""Slices that are another part of a tensor in each turn of a loop: the nodes of each graph of a batch.

for j in range(n):                                 for j in range(n):
    start, end = ptr[j].item(), ptr[j + 1].item()      forces[ptr[j] : ptr[j + 1]].cpu()
    forces[start:end].cpu()
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.constants.tracing import Loop, bound_by
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part, names_of

_HOPS = 3


def cut_by_turn(file: SourceFile, place: Place, loop: Loop, index: ast.expr) -> bool:
    """Whether an index is a slice between two bounds, both of which follow from the number of the turn.

    One bound alone, `x[:i]`, gives parts that overlap: what the turns read of them is more than the whole.
    """
    if not isinstance(index, ast.Slice) or index.lower is None or index.upper is None or index.step is not None:
        return False
    body, counter = file.project.body(file.path), _counter(loop)
    if body is None or not counter:
        return False
    bound = bound_by(file, place.function, loop)
    return all(
        _follows(body, place, edge, body.at(edge), bound, counter, _HOPS) for edge in (index.lower, index.upper)
    )


def picked_by_turn(file: SourceFile, place: Place, loop: Loop, index: ast.expr) -> bool:
    """Whether an index, or a part of one, is worked out of the number of the turn: `at` of `at = start + j - 1`."""
    body, counter = file.project.body(file.path), _counter(loop)
    if body is None or not counter:
        return False
    bound = bound_by(file, place.function, loop)
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    numbers = [p for p in parts if isinstance(p, ast.Name | ast.BinOp) and file.value(p, place).kind != "tensor"]
    return any(_follows(body, place, part, body.at(part), bound, counter, 1) for part in numbers)


def _follows(
    body: Body, place: Place, edge: ast.expr, at: Position, bound: frozenset[str], counter: str, hops: int
) -> bool:
    """Whether a bound is computed of the number of the turn, itself or through names that the turn binds."""
    names = names_of(edge)
    if counter in names:
        return True
    if not hops:
        return False
    for name in names & bound:
        for definition in body.reaching(place.function, name, at) or ():
            made = definition.value
            if definition.how in ("assign", "item") and made is not None and (
                _follows(body, place, made, definition.at, bound, counter, hops - 1)
            ):
                return True
    return False


def _counter(loop: Loop) -> str:
    """The number of the turn: `j` of `range(n)`, and of `enumerate(x)`."""
    first = first_part(loop.target)
    counts = isinstance(loop.iter, ast.Call) and last_part(chain(loop.iter.func)) in ("range", "enumerate", "trange")
    return first.id if counts and isinstance(first, ast.Name) else ""
