"""Reads of one number as they were written before torch had `.item()`: `total += loss.data[0]`."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes
from torchperf_lint.facts.reads.reads import Read, hot_read
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.patterns import pattern

_ONE_NUMBER = pattern(r"(?:^|_)(?:loss(?:es)?|err|error|cost)(?:_|\d|$)|(?:^|[a-z])Loss$|cross_entropy")
"""Names of losses, which are one number."""
_REDUCTIONS = frozenset({"sum", "mean", "norm"})
"""Without arguments they leave one number of a tensor."""


class OldRead(NamedTuple):
    """A hot `x.data[0]` of a tensor that is one number."""

    spot: Spot
    operand: ast.expr
    """The tensor."""
    read: Read


def old_reads(file: SourceFile) -> Iterator[OldRead]:
    """The hot reads of a file by `.data[0]`."""
    if not file.mentions((".data[0]",)):
        return
    for spot in hot_nodes(file, ast.Subscript):
        operand = _read_so(spot.expression, _trained_on(file, spot.function))
        read = hot_read(file, spot, operand) if operand is not None else None
        if operand is not None and read is not None:
            yield OldRead(spot, operand, read)


def _trained_on(file: SourceFile, function: int) -> Collection[str]:
    """What a function runs `backward` on, which takes one number where it is given no gradient."""
    body = file.project.body(file.path)
    return body.backward_operands(function).keys() if body is not None else ()


def _read_so(node: ast.expr | ast.stmt, trained: Collection[str]) -> ast.expr | None:
    """`loss` of `loss.data[0]`."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or not is_literal(node.slice, 0):
        return None
    held = node.value
    if not isinstance(held, ast.Attribute) or held.attr != "data":
        return None
    of = held.value
    name = last_part(chain(of.func if isinstance(of, ast.Call) else of))
    reduced = isinstance(of, ast.Call) and not of.args and name in _REDUCTIONS
    return of if reduced or _ONE_NUMBER.search(name) or chain(of) in trained else None
