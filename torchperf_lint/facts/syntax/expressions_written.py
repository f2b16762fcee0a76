"""Parts of expressions written out, for advice that can be pasted: `(z @ z.t()).device`."""

from __future__ import annotations

import ast

_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def as_written(node: ast.expr) -> str:
    """`ast.unparse`, in a tenth of its time of names and of what is taken from one, as most are."""
    if type(node) is ast.Name:
        return node.id
    if type(node) is ast.Attribute and type(node.value) is ast.Name:
        return f"{node.value.id}.{node.attr}"
    return ast.unparse(node)


def of_part(node: ast.expr, name: str) -> str:
    """An attribute of an expression, in parentheses where they are needed: `.device` of `a @ b` is none of `b`."""
    text = as_written(node)
    return f"{text}.{name}" if isinstance(node, _WHOLE) else f"({text}).{name}"
