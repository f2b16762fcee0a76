"""The expressions of one statement, and the lines on which any may bind a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torchperf_lint.facts.syntax.syntax import CHILDREN, SIMPLE

_SIMPLE = frozenset(SIMPLE)
_TESTING = (ast.If, ast.While)
_FOR = (ast.For, ast.AsyncFor)


_WORDS = ("for", "else", "lambda", ":=")
"""What a comprehension, a conditional, a lambda and a walrus are written with; a call binds what its lambda takes."""


def lines_that_may_bind(text: str) -> frozenset[int]:
    """The 1-based lines of a text on which an expression may begin or go on that binds a name, or says what one is."""
    return frozenset(line for word in _WORDS for line in lines_with(word, text))


def lines_with(word: str, text: str) -> Iterator[int]:
    """The 1-based lines of a text that hold a word, in order; some may come several times."""
    line, start, at = 1, 0, text.find(word)
    while at >= 0:
        line += text.count("\n", start, at)
        yield line
        start, at = at, text.find(word, at + 1)


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
