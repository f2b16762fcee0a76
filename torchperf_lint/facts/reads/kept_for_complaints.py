"""Answers that are kept for a complaint: `bad = (x < 0).any().item()`, and then `if bad: warnings.warn(...)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import leaves, only_speaks


def is_kept_for_complaint(place: Place) -> bool:
    """Whether what is read gets a name that nothing asks for but tests whose branches speak, or raise."""
    enclosing, body = place.file.enclosing(place.function), place.file.project.body(place.file.path)
    statement = enclosing.statement(place.expression)
    if body is None or not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
        return False
    reads = body.reads(place.function, statement.targets[0].id)
    return bool(reads) and all(_complains(_branch(enclosing.parents, name)) for name in reads)


def _complains(branch: ast.If | None) -> bool:
    return branch is not None and not branch.orelse and (leaves(branch.body) or only_speaks(branch.body))


def _branch(parents: dict[ast.AST, ast.AST], name: ast.AST) -> ast.If | None:
    """The `if` that a name, or `not` it, is the test of."""
    parent = parents.get(name)
    while isinstance(parent, ast.UnaryOp | ast.BoolOp):
        name, parent = parent, parents.get(parent)
    return parent if isinstance(parent, ast.If) and parent.test is name else None
