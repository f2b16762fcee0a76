"""Chains: a name, attribute, call or item access written as a short string.

`self.loaders["train"].dataset` is `self.loaders[train].dataset`, `model(x).sum` is `model().sum`, and `x[i]` is
`x[]`; anything else in the middle becomes `?`. Chains are what outlines keep of expressions: comparable, hashable,
quick to make.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

MAX_PARTS = 12
_NAME, _ATTRIBUTE, _CALL, _SUBSCRIPT = ast.Name, ast.Attribute, ast.Call, ast.Subscript


def chain(node: ast.AST) -> str:
    """The chain of an expression. Subscripts by a non-negative integer or a plain word keep it."""
    # The question asked most often of all: types are compared as they are, which is quicker than `isinstance`.
    if type(node) is _NAME:
        return node.id
    if type(node) is _ATTRIBUTE and type(node.value) is _NAME:  # with names, three of four
        return f"{node.value.id}.{node.attr}"
    found = ""
    current: Any = node
    for _ in range(MAX_PARTS):
        kind = type(current)
        if kind is _NAME:
            return f"{current.id}{found}"
        if kind is _ATTRIBUTE:
            found = f".{current.attr}{found}"
            current = current.value
        elif kind is _CALL:
            found = f"(){found}"
            current = current.func
        elif kind is _SUBSCRIPT:
            found = _index(current.slice) + found
            current = current.value
        elif kind is ast.Await:
            current = current.value
        else:
            break
    return "?" + found


def _index(node: ast.AST) -> str:
    value = node.value if isinstance(node, ast.Constant) else None
    if type(value) is int and value >= 0:
        return f"[{value}]"
    return f"[{value}]" if isinstance(value, str) and value.isidentifier() else "[]"


def named(text: str) -> str:
    """A chain for a reader: `loss.backward`; of `?.backward`, as `(a + b).backward()` gives it, only `backward`."""
    return text.rpartition("?.")[2]


@lru_cache(8192)
def last_part(text: str) -> str:
    """The last name of a chain: `item` for `loss.item`, `DataLoader` for `data.DataLoader()`."""
    while text.endswith(("()", "]")):
        text = text[:-2] if text.endswith("()") else text[: text.rindex("[")]
    return text.rpartition(".")[2]
