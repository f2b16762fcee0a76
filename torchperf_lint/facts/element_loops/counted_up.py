"""Numbers of the host that a loop adds to one element of a device tensor after the other.

    for gram in grams:                                  counts = [0] * n
        matches[len(gram) - 1] += grams[gram]           for gram in grams:
                                                            counts[len(gram) - 1] += grams[gram]
                                                        matches += torch.tensor(counts, device=matches.device)

Each turn takes the element, adds, and writes back: two or three kernels for what Python adds in no time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.element_loops.turns import HANDFUL
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.facts.values.value import Value


class CountedUp(NamedTuple):
    """A statement that adds a number of the host to an element of a tensor, in each turn of a loop."""

    spot: Spot
    tensor: ast.expr
    value: Value
    line: int
    """Of the loop."""


def counted_up(file: SourceFile) -> Iterator[CountedUp]:
    """The hot additions of numbers to single elements of a device tensor, in loops over what the host has."""
    for spot in hot_nodes(file, ast.AugAssign):
        statement = spot.expression
        assert isinstance(statement, ast.AugAssign)
        target = statement.target
        if not isinstance(target, ast.Subscript) or not isinstance(statement.op, ast.Add | ast.Sub):
            continue
        if not isinstance(target.value, ast.Name | ast.Attribute) or spot.hot.kind == "data":
            continue
        loop = next(file.enclosing(spot.function).loops(statement), None)
        if not isinstance(loop, ast.For) or _is_step_loop(file, spot, loop) or not _varies(loop, target):
            continue
        if not _of_the_host(file, spot, statement.value, True) or not _of_the_host(file, spot, target.slice, False):
            continue
        value = on_device(file, spot, target.value)
        if value is not None and value.kind == "tensor" and is_one_tensor(file, spot, target.value):
            yield CountedUp(spot, target.value, value, loop.lineno)


def _is_step_loop(file: SourceFile, spot: Spot, loop: ast.For) -> bool:
    """Whether the loop is the one whose turns are steps, or has a handful of turns."""
    around = spot.hot.loop
    if around is not None and around[0] == file.path and file.outline.regions[around[1]].head == loop.lineno:
        return True
    turns = literal_turns(loop.iter)
    names = [n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)]
    return (turns is not None and turns <= FEW_TURNS) or any(map(HANDFUL.search, names))


def _varies(loop: ast.For, target: ast.Subscript) -> bool:
    """Whether turns choose the element: by the loop's variable, and not by a slice or a mask."""
    variables = names_of(loop.target)
    if any(isinstance(part, ast.Slice) for part in ast.walk(target.slice)):
        return False
    return any(isinstance(n, ast.Name) and n.id in variables for n in ast.walk(target.slice))


def _of_the_host(file: SourceFile, place: Place, node: ast.expr, number: bool) -> bool:
    """Whether nothing in an expression may be a tensor; a `number` has to be shown to be one, or be an entry."""
    kinds = {file.value(n, place).kind for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute | ast.Call)}
    if not kinds <= {"plain", "unknown", "sequence", "nothing"}:
        return False
    if not number:
        return True
    return isinstance(node, ast.Constant | ast.Subscript) or file.value(node, place).kind == "plain"
