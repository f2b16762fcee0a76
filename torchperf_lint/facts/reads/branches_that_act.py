"""Branches that do what no tensor can hold: they call for an effect, `torch.save(...)`, or leave a loop or function."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.syntax import nodes_of

_LEAVES = (ast.Break, ast.Continue, ast.Yield, ast.Delete)


def acts_on_host(place: Place) -> bool:
    """Whether the branch that a test decides about does more than to give names other values."""
    around = place.file.enclosing(place.function)
    node: ast.AST = place.expression
    for parent in around.ancestors(place.expression):
        if isinstance(parent, ast.If) and parent.test is node:
            parts = [part for statement in (*parent.body, *parent.orelse) for part in nodes_of(statement)]
            return any(_acts(part) for part in parts)
        if isinstance(parent, ast.stmt):
            return False
        node = parent
    return False


def _acts(node: ast.AST) -> bool:
    """A method that ends in `_` changes a tensor, as a masked operation would; `return h` gives one or another back."""
    if isinstance(node, _LEAVES):
        return True
    if isinstance(node, ast.Return):
        return node.value is None or isinstance(node.value, ast.Constant)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    func = node.value.func
    return not (isinstance(func, ast.Attribute) and func.attr.endswith("_"))
