"""What a statement adds to what it binds: `total += x`, `total = total + x`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain


def addend(statement: ast.stmt) -> ast.expr | None:
    """The right side of a sum that a name, or an attribute, is set to, with itself on the left; None for others."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        return statement.value
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Assign) and isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return value.right if chain(value.left) == chain(statement.targets[0]) else None
    return None
