"""The expressions of one statement, and the lines on which any may bind a name."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from torchperf_lint.facts.syntax.syntax import CHILDREN, SIMPLE

_SIMPLE = frozenset(SIMPLE)
_TESTING = (ast.If, ast.While)
_FOR = (ast.For, ast.AsyncFor)


def lines_that_may_bind(lines: Sequence[str]) -> frozenset[int]:
    """The 1-based lines on which an expression may begin or go on that binds a name, or says what one is."""
    # What a walrus, a lambda, a comprehension and a conditional are written with; a call binds what its lambda takes.
    return frozenset(
        n for n, line in enumerate(lines, 1) if "for" in line or "else" in line or "lambda" in line or ":=" in line
    )


def own_expressions(node: ast.stmt) -> list[Any]:
    """The expressions of a statement, in order, but for those of the statements in it."""
    kind = type(node)
    if kind in _SIMPLE:
        return CHILDREN[kind](node)
    if isinstance(node, _TESTING):
        return [node.test]
    if isinstance(node, _FOR):
        return [node.target, node.iter]
    return [child for child in CHILDREN[kind](node) if isinstance(child, ast.expr)]
