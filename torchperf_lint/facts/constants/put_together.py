"""What expressions are put together of, whose numbers theirs are."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.gathered import is_empty_list


def elements_of(node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> list[ast.expr]:
    """What the elements of a comprehension are made of; of `{lag: [] for lag in lags}` nothing yet."""
    if not isinstance(node, ast.DictComp):
        return [node.elt]
    return [] if is_empty_list(node.value) else [node.value]


def parts_put_together(node: ast.expr) -> list[ast.expr] | None:
    """What an expression takes its numbers from; None where it is not put together of parts."""
    if isinstance(node, ast.List | ast.Tuple):
        return node.elts
    if isinstance(node, ast.Dict | ast.BoolOp):  # `weights or [1.0, 1.0]`: either
        return node.values
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    if isinstance(node, ast.IfExp):
        return [node.body, node.orelse]
    if isinstance(node, ast.UnaryOp):
        return [node.operand]
    return [node.value] if isinstance(node, ast.Starred) else None
