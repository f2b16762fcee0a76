"""Volumes that a loop fills slice by slice, each with a tensor shifted a little further, as matching in stereo does.

    for i in range(shifts):                                  shifted = F.pad(right, (shifts - 1, 0))
        cost[:, :c, i, :, i:] = left[..., i:]                shifted = shifted.unfold(-1, right.size(-1), 1)
        cost[:, c:, i, :, i:] = right[..., :-i]              # every shift, the largest first: a view

Each write starts kernels, and records a step of autograd that copies the gradient of the whole volume.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple, cast

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.element_loops.single import is_one_tensor
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.hotness.loop import FEW_TURNS
from torchperf_lint.facts.outlines.guards import literal_turns
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Value


class ShiftedSlices(NamedTuple):
    """A hot loop that fills a tensor with shifted slices."""

    spot: Spot
    whole: ast.expr
    value: Value


def shifted_slices(file: SourceFile) -> Iterator[ShiftedSlices]:
    """The hot loops that do nothing else than to write shifted slices into one tensor, along any axis but the first."""
    for spot in hot_nodes(file, ast.For):
        loop = cast("ast.For", spot.expression)
        if spot.hot.kind == "data" or not _counts(loop):
            continue
        whole = _filled(loop)
        if whole is None or not is_one_tensor(file, spot, whole):
            continue
        value = on_device(file, spot, whole)
        if value is not None and value.kind == "tensor":
            yield ShiftedSlices(spot.at(loop.iter), whole, value)


def _counts(loop: ast.For) -> bool:
    ranged = isinstance(loop.iter, ast.Call) and chain(loop.iter.func) == "range" and len(loop.iter.args) == 1
    turns = literal_turns(loop.iter)
    return ranged and isinstance(loop.target, ast.Name) and (turns is None or turns > FEW_TURNS)


def _filled(loop: ast.For) -> ast.Name | None:
    """The name of what all statements of the loop write slices into; None where one does anything else."""
    counter = cast("ast.Name", loop.target).id
    statements = list(_flat(loop.body))
    targets = [_target(node, counter) for node in statements]
    names = {target.value.id for target in targets if target is not None and isinstance(target.value, ast.Name)}
    if None in targets or len(names) != 1:
        return None
    written = cast("list[ast.Subscript]", targets)
    values = [cast("ast.Assign", node).value for node in statements]
    reads = {n.id for value in values for n in ast.walk(value) if isinstance(n, ast.Name)}
    shifts = any(_shifts(t.slice, counter) and _shifts(v, counter) for t, v in zip(written, values, strict=True))
    whole = written[0].value
    return whole if shifts and isinstance(whole, ast.Name) and not names & reads else None


def _flat(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a body, those of `if` and `else` in its place."""
    for node in body:
        if isinstance(node, ast.If):
            yield from _flat(node.body)
            yield from _flat(node.orelse)
        else:
            yield node


def _target(node: ast.stmt, counter: str) -> ast.Subscript | None:
    """`cost[:, :c, i, :, i:]`, of an assignment: the counter is an index, behind an axis that is no counter's."""
    target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
    if not isinstance(target, ast.Subscript) or not isinstance(target.slice, ast.Tuple):
        return None
    first, *others = target.slice.elts
    behind = any(isinstance(part, ast.Name) and part.id == counter for part in others)
    return target if behind and isinstance(first, ast.Slice) else None


def _shifts(node: ast.AST, counter: str) -> bool:
    """Whether the counter is a bound of a slice: `i:`, `:-i`."""
    slices = [part for part in ast.walk(node) if isinstance(part, ast.Slice)]
    return any(isinstance(n, ast.Name) and n.id == counter for part in slices for n in ast.walk(part))
