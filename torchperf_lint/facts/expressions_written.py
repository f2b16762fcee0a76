"""Parts of expressions written out, for advice that can be pasted: `(z @ z.t()).device`."""

from __future__ import annotations

import ast

_WHOLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def of_part(node: ast.expr, name: str) -> str:
    """An attribute of an expression, in parentheses where they are needed: `.device` of `a @ b` is none of `b`."""
    written = ast.unparse(node)
    return f"{written}.{name}" if isinstance(node, _WHOLE) else f"({written}).{name}"
