"""Checks for NaN and infinity, and where they read the device."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.reads.old_reads import old_reads
from torchperf_lint.facts.reads.reads import conversion_readings, copy_readings, item_readings
from torchperf_lint.facts.reads.truths import truths
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import nodes_of

_CHECKS = frozenset({"isnan", "isinf", "isfinite", "isposinf", "isneginf"})


class Check(NamedTuple):
    """A place that reads the answer of a check on the host, or the value that the host then checks."""

    place: Place
    operand: ast.expr
    """The tensor that is read."""
    written: ast.expr
    """The check as a reader would name it."""


def checks(file: SourceFile) -> Iterator[Check]:
    """The hot checks for NaN and infinity that are decided on the host."""
    for spot in truths(file):
        assert isinstance(spot.expression, ast.expr)
        if _checks(spot.expression) or _bound_to_check(file, spot.function, spot.expression):
            yield Check(spot, spot.expression, spot.expression)
    for site, operand, _read in (*item_readings(file), *conversion_readings(file), *copy_readings(file)):
        outer = _check_of(file, site)
        if outer is not None:
            yield Check(site, operand, outer)
        elif _checks(operand):
            yield Check(site, operand, site.call)
    for spot, operand, _read in old_reads(file):
        outer = _check_of(file, spot)
        if outer is not None:
            yield Check(spot, operand, outer)


def _checks(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and last_part(chain(n.func)) in _CHECKS for n in nodes_of(node))


def _bound_to_check(file: SourceFile, function: int, node: ast.expr) -> bool:
    """`bad = torch.isnan(loss).any()`, and then `if bad:`."""
    body = file.project.body(file.path)
    if not isinstance(node, ast.Name) or body is None:
        return False
    reaching = body.reaching(function, node.id, body.at(node)) or []
    return any(d.how == "assign" and d.value is not None and _checks(d.value) for d in reaching)


def _check_of(file: SourceFile, place: Place) -> ast.expr | None:
    """The `math.isnan(...)` around what a place reads, or which it is."""
    around = [place.expression, *file.enclosing(place.function).ancestors(place.expression)]
    found = (n for n in around if isinstance(n, ast.Call) and last_part(chain(n.func)) in _CHECKS)
    return next(found, None)
