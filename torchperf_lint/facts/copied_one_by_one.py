"""Elements that a loop copies from one device tensor into another, at places that the host lists.

    for i, j in enumerate(self.modes):                  picked[..., : len(self.modes)] = x_ft[..., self.modes]
        picked[:, :, :, i] = x_ft[:, :, :, j]

Each turn starts a kernel, and two more in the backward pass; one index takes all of them at once.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.guards import literal_turns
from torchperf_lint.facts.loop import FEW_TURNS
from torchperf_lint.facts.reads import on_device
from torchperf_lint.facts.single import is_one_tensor
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.facts.spots import Spot, hot_nodes
from torchperf_lint.facts.syntax import names_of
from torchperf_lint.facts.turns import HANDFUL
from torchperf_lint.facts.value import Value

_NO_LISTS = frozenset({"tensor", "batch", "module", "loader"})
"""What is gone through on the device, or for each step."""


class CopiedOneByOne(NamedTuple):
    """A loop that does nothing but copy one element a turn."""

    spot: Spot
    into: ast.expr
    whole: ast.expr
    """What the elements are taken from."""
    value: Value


def copied_one_by_one(file: SourceFile) -> Iterator[CopiedOneByOne]:
    """The hot loops over places of the host whose turns copy an element of a device tensor into another."""
    for spot in hot_nodes(file, ast.For):
        loop = spot.expression
        assert isinstance(loop, ast.For)
        copy = _copy(loop)
        if copy is None or spot.hot.kind == "data" or _is_short(loop):
            continue
        into, taken = copy
        of_the_host = all(file.value(part, spot).kind not in _NO_LISTS for part in _lists(loop.iter))
        if not of_the_host or _is_same(into, taken) or not _is_on_device(file, spot, into):
            continue
        value = on_device(file, spot, taken.value)
        if value is not None and value.kind == "tensor" and is_one_tensor(file, spot, taken.value):
            yield CopiedOneByOne(spot, into.value, taken.value, value)


def _copy(loop: ast.For) -> tuple[ast.Subscript, ast.Subscript] | None:
    """What a turn copies into, and what it takes; None where it does more, or less."""
    last = loop.body[-1]
    skips = (isinstance(s, ast.If) and not s.orelse and isinstance(s.body[0], ast.Continue) for s in loop.body[:-1])
    if not isinstance(last, ast.Assign) or len(last.targets) != 1 or loop.orelse or not all(skips):
        return None
    into, taken = last.targets[0], last.value
    if not isinstance(into, ast.Subscript) or not isinstance(taken, ast.Subscript):
        return None
    variables = names_of(loop.target)
    both = all(_picks_one(side, variables) for side in (into, taken))
    return (into, taken) if both else None


def _picks_one(node: ast.Subscript, variables: set[str]) -> bool:
    """`x[:, :, j]`: one variable of the loop chooses, all else is taken whole."""
    if not isinstance(node.value, ast.Name | ast.Attribute) or names_of(node.value) & variables:
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    chosen = [part for part in parts if isinstance(part, ast.Name) and part.id in variables]
    rest = (part for part in parts if part not in chosen)
    return len(chosen) == 1 and not any(names_of(part) & variables for part in rest)


def _lists(iterated: ast.expr) -> list[ast.expr]:
    """What a loop goes over: of `enumerate` and `zip` what they are given."""
    if isinstance(iterated, ast.Call):
        return list(iterated.args) if chain(iterated.func) in ("enumerate", "zip") else []
    return [iterated] if isinstance(iterated, ast.Name | ast.Attribute) else []


def _is_short(loop: ast.For) -> bool:
    """Whether a loop has a handful of turns, or goes over something else than lists."""
    lists = _lists(loop.iter)
    turns = [literal_turns(part) for part in (loop.iter, *lists)]
    few = any(number is not None and number <= FEW_TURNS for number in turns)
    return not lists or few or any(HANDFUL.search(name) for name in names_of(loop.target, loop.iter))


def _is_same(into: ast.Subscript, taken: ast.Subscript) -> bool:
    return ast.dump(into.value) == ast.dump(taken.value)


def _is_on_device(file: SourceFile, spot: Spot, into: ast.Subscript) -> bool:
    value = on_device(file, spot, into.value)
    return value is not None and value.kind == "tensor"
