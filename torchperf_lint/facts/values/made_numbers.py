"""Choices that leave no tensor: `x.item() if isinstance(x, torch.Tensor) else x`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain, last_part

_READS = frozenset({"item", "float", "int", "tolist"})


def made_a_number(node: ast.IfExp) -> bool:
    """Whether a choice reads a tensor on the host and leaves whatever else the same name may be as it is."""
    test, read, kept = node.test, node.body, node.orelse
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, read, kept = test.operand, kept, read
    if not isinstance(test, ast.Call) or not test.args or not isinstance(read, ast.Call):
        return False
    asked = chain(test.args[0])
    is_test = last_part(chain(test.func)) in ("isinstance", "is_tensor", "hasattr")
    return is_test and "?" not in asked and asked == chain(kept) and last_part(chain(read.func)) in _READS
