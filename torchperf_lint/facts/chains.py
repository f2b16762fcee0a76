"""Chains: a name, attribute, call or item access written as a short string.

`self.loaders["train"].dataset` is `self.loaders[train].dataset`, `model(x).sum` is `model().sum`, and `x[i]` is
`x[]`; anything else in the middle becomes `?`. Chains are what outlines keep of expressions: comparable, hashable,
quick to make.
"""

from __future__ import annotations

import ast

MAX_PARTS = 12


def chain(node: ast.AST) -> str:
    """The chain of an expression. Subscripts by a non-negative integer or a plain word keep it."""
    found = ""
    for _ in range(MAX_PARTS):
        if isinstance(node, ast.Name):
            return node.id + found
        if isinstance(node, ast.Attribute):
            found = f".{node.attr}{found}"
            node = node.value
        elif isinstance(node, ast.Call):
            found = "()" + found
            node = node.func
        elif isinstance(node, ast.Subscript):
            found = _index(node.slice) + found
            node = node.value
        elif isinstance(node, ast.Await):
            node = node.value
        else:
            break
    return "?" + found


def _index(node: ast.AST) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is int and value >= 0:
        return f"[{value}]"
    return f"[{value}]" if isinstance(value, str) and value.isidentifier() else "[]"


def last_part(text: str) -> str:
    """The last name of a chain: `item` for `loss.item`, `DataLoader` for `data.DataLoader()`."""
    while text.endswith(("()", "]")):
        text = text[:-2] if text.endswith("()") else text[: text.rindex("[")]
    return text.rpartition(".")[2]
