"""Expressions that are written as literals: True, False, None, texts and numbers."""

from __future__ import annotations

import ast

UNKNOWN = object()
"""What is not written as a literal."""


def is_true(node: ast.AST | None) -> bool:
    """Whether an expression is a literal True; 1 is none."""
    return isinstance(node, ast.Constant) and node.value is True


def is_false(node: ast.AST | None) -> bool:
    """Whether an expression is a literal False; 0 is none."""
    return isinstance(node, ast.Constant) and node.value is False


def is_none(node: ast.AST | None) -> bool:
    """Whether an expression is a literal None; nothing at all is none."""
    return isinstance(node, ast.Constant) and node.value is None


def is_text(node: ast.AST | None) -> bool:
    """Whether an expression is a literal text; one that is put together, an f-string, is none."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def is_literal(node: ast.AST | None, value: object) -> bool:
    """Whether an expression is a literal that equals `value`: 1 equals True and 1.0, as in Python."""
    return isinstance(node, ast.Constant) and node.value == value


def literal_of(node: ast.expr) -> object:
    """The number, text, True, False or None that an expression is, `-1` too; UNKNOWN for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        return -number if isinstance(number, int | float) else UNKNOWN
    return node.value if isinstance(node, ast.Constant) else UNKNOWN
