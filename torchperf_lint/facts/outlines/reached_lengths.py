"""Tests for one length of sequences that grow token by token: `if input_ids.shape[1] == self.begin_index`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.conditions import name_of
from torchperf_lint.patterns import pattern

_LENGTH = pattern(r"^(?:cur|current)_(?:len|length)$|(?:^|_)(?:ids|tokens)$")
_BEGINS = pattern(r"(?:^|_)(?:begin|start|prompt|prefix|first|initial)|^max_(?:new_)?(?:len|length|tokens)$")


def is_one_length(test: ast.expr) -> bool:
    """`input_ids.shape[1] == self.begin_index`: sequences that grow token by token are as long as that once."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    left, right = test.left, test.comparators[0]
    while isinstance(left, ast.Subscript | ast.Call | ast.Attribute):  # `.shape[1]`, `.size(-1)`, `len(tokens)`
        if isinstance(left, ast.Call) and name_of(left.func) == "len" and left.args:
            left = left.args[0]
        elif isinstance(left, ast.Attribute) and left.attr not in ("shape", "size"):
            break
        else:
            left = left.func if isinstance(left, ast.Call) else left.value
    if isinstance(right, ast.BinOp) and isinstance(right.right, ast.Constant):
        right = right.left  # `self.max_length - 1`
    return bool(_LENGTH.search(name_of(left)) and _BEGINS.search(name_of(right)))
