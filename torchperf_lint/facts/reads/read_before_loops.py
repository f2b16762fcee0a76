"""Numbers that no turn of the loops around changes, so that they could be read once before them.

    epsilon = (8 / 255) / std
    for x, y in loader:
        for j in range(3):
            delta[:, j].uniform_(-epsilon[j].item(), epsilon[j].item())
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.constants.tracing import bound_by, changed_in
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.reads import Reading


class Unchanged(NamedTuple):
    """What a read is taken of, where the loops around leave it as it is."""

    whole: ast.Name
    line: int
    """Where the outermost of these loops begins."""
    parts: bool
    """Whether the turns read different parts of it."""


def unchanged_around(file: SourceFile, reading: Reading) -> Unchanged | None:
    """The name that a read takes an element of, where the loop around does not change it; else None."""
    function, whole = reading.site.function, _whole(reading.operand)
    if whole is None:
        return None
    found: Unchanged | None = None
    parts = False
    indices = {n.id for n in ast.walk(reading.operand) if isinstance(n, ast.Name)} - {whole.id}
    for loop in file.enclosing(function).loops(reading.site.call):
        if changed_in(file, function, loop, whole, trained=not _is_computed(file, reading, whole)):
            break
        parts = parts or bool(indices & bound_by(file, function, loop))
        found = Unchanged(whole, loop.target.lineno, parts)
    return found


def _whole(node: ast.expr) -> ast.Name | None:
    """`epsilon` of `epsilon[j][0]`: elements alone, for what else is done with it may differ each turn."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None


def _is_computed(file: SourceFile, reading: Reading, whole: ast.Name) -> bool:
    """Whether a name is bound to what an arithmetic operator gives: a new tensor, which no optimizer trains unless it
    is told to want gradients."""
    body, function = file.project.body(file.path), reading.site.function
    made = body.assigned_once(function, whole.id, body.at(whole)) if body is not None else None
    if body is None or not isinstance(made, ast.BinOp):
        return False
    return not any(use.startswith("requires_grad") for use, _ in body.uses(function, whole.id))
