"""Elements of two device tensors that a loop multiplies, one after the other, at places that the host lists.

    for i, j in enumerate(self.modes):
        out[..., i] = torch.einsum("bhi,hio->bho", x_ft[..., j], self.weights[..., i])

The product is one `einsum`, or a function of the project that gives back one of what it is given. A letter more, for
the axis that the loop indexes, makes it a product of all elements: `"bhim,hiom->bhom"`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.call_graph.passed import by_place
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.copied_one_by_one import (
    are_places,
    is_new,
    is_on_device,
    is_short,
    picks_one,
    skips,
)
from torchperf_lint.facts.element_loops.rows import is_whole
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax.arguments import unpacks
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Value

_LETTERS = "mnktuvwz"


class MultipliedOneByOne(NamedTuple):
    """A loop that does nothing but multiply one pair of elements a turn."""

    spot: Spot
    into: ast.expr
    wholes: list[ast.expr]
    """What the elements are taken from."""
    batched: str
    """The equation with a letter for the axis that the loop indexes, in quotes."""
    value: Value


def multiplied_one_by_one(file: SourceFile) -> Iterator[MultipliedOneByOne]:
    """The hot loops over places of the host whose turns put a product of two elements into a new tensor."""
    for spot in hot_nodes(file, ast.For):
        loop = spot.expression
        assert isinstance(loop, ast.For)
        product = _product(file, spot, loop) if spot.hot.kind != "data" and not is_short(loop) else None
        if product is None or not are_places(file, spot, loop):
            continue
        into, taken, equation = product
        if not all(is_new(file, spot, into, each) for each in taken) or not is_on_device(file, spot, into):
            continue
        values = [on_device(file, spot, each.value) for each in taken]
        known = [value for value in values if value is not None and value.kind == "tensor"]
        whole = all(isinstance(each.slice, ast.Tuple) or is_one_tensor(file, spot, each.value) for each in taken)
        if len(known) == len(taken) and whole:  # no list takes several indices
            batched = _batched(equation, [*taken, into], names_of(loop.target))
            if batched is not None:
                yield MultipliedOneByOne(spot, into.value, [each.value for each in taken], batched, known[0])


def _product(
    file: SourceFile, spot: Spot, loop: ast.For
) -> tuple[ast.Subscript, list[ast.Subscript], str] | None:
    """What a turn writes into, the two elements that it takes, and the equation; None where it does anything else."""
    last, variables = loop.body[-1], names_of(loop.target)
    if not isinstance(last, ast.Assign) or len(last.targets) != 1 or loop.orelse:
        return None
    into, call = last.targets[0], last.value
    if not isinstance(into, ast.Subscript) or not isinstance(call, ast.Call) or unpacks(call) or call.keywords:
        return None
    equation, given = _equation(file, spot, call)
    taken = [node for node in given if isinstance(node, ast.Subscript)]
    every = all(skips(statement, variables) for statement in loop.body[:-1]) and len(taken) == len(given) == 2
    if not equation or not every or not all(picks_one(side, variables) for side in (into, *taken)):
        return None
    return into, taken, equation


def _equation(file: SourceFile, spot: Spot, call: ast.Call) -> tuple[str, list[ast.expr]]:
    """The equation of an `einsum`, and what it multiplies; of a function that gives back one, what it is given."""
    if file.denotes(call.func, spot) == "torch.einsum":
        return _of_einsum(call)
    targets = file.project.types.targets(file.path, spot.function, chain(call.func))
    body = file.project.body(targets[0].path) if len(targets) == 1 else None
    returned = body.returns(targets[0].index) if body is not None else []
    if len(returned) != 1 or not isinstance(returned[0], ast.Call) or chain(returned[0].func) != "torch.einsum":
        return "", []
    equation, inner = _of_einsum(returned[0])
    names = by_place(file.project.index.function(targets[0]))
    plain = [chain(node) for node in inner] == names[: len(inner)] and len(call.args) == len(inner)
    return (equation, call.args) if plain else ("", [])


def _of_einsum(call: ast.Call) -> tuple[str, list[ast.expr]]:
    first = call.args[0] if call.args else None
    written = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    simple = written.count("->") == 1 and "." not in written
    return (written, call.args[1:]) if simple else ("", [])


def _batched(equation: str, sides: list[ast.Subscript], variables: set[str]) -> str | None:
    """`"bhim,hiom->bhom"` of `bhi,hio->bho`, where the loop indexes the last axis of each; None where it fits none."""
    letter = next((each for each in _LETTERS if each not in equation), None)
    taken, _, given = equation.replace(" ", "").partition("->")
    parts = [*taken.split(","), given]
    if letter is None or len(parts) != len(sides):
        return None
    places = [_axis(side, len(part), variables) for side, part in zip(sides, parts, strict=True)]
    written = [p[:at] + letter + p[at:] for p, at in zip(parts, places, strict=True) if at is not None]
    return f'"{",".join(written[:-1])}->{written[-1]}"' if len(written) == len(parts) else None


def _axis(side: ast.Subscript, others: int, variables: set[str]) -> int | None:
    """The axis that the loop's variable chooses, of `others` that are taken whole beside it."""
    parts = side.slice.elts if isinstance(side.slice, ast.Tuple) else [side.slice]
    at = next(n for n, part in enumerate(parts) if isinstance(part, ast.Name) and part.id in variables)
    if not all(n == at or is_whole(part) or _is_ellipsis(part) for n, part in enumerate(parts)):
        return None
    if any(_is_ellipsis(part) for part in parts[:at]):
        return others - (len(parts) - 1 - at)
    return at if at <= others else None


def _is_ellipsis(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant) and part.value is ...
