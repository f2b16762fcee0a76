"""Reads whose answer a function hands back to be decided upon: `return bool(bad.any())`, `return int(x.argmax())`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.source import Place

_PLACES = frozenset({"argmax", "argmin"})
_CONVERTS = frozenset({"int", "item"})
_OF_ANSWERS = frozenset({"any", "all", "bool"})


def is_answer(place: Place) -> bool:
    """Whether a number that is read is handed back as a truth (`return float(a) > limit`) or as a place in a list.

    The caller branches on the one and indexes with the other: what it decides stands in another function.
    """
    compared = False
    node: ast.AST = place.expression
    for parent in place.file.enclosing(place.function).ancestors(place.expression):
        if isinstance(parent, ast.Return):
            return compared or (node is place.expression and _is_place(node))
        compared = compared or (isinstance(parent, ast.Compare) and not _of_identity(parent))
        if not compared and isinstance(parent, ast.comprehension | ast.GeneratorExp):
            return False
        if not isinstance(parent, _AROUND) and not _gives_truth(parent):
            return False
        node = parent
    return False


_AROUND = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.BinOp, ast.GeneratorExp)


def _of_identity(node: ast.Compare) -> bool:
    return any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)


def _gives_truth(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _OF_ANSWERS


def _is_place(node: ast.AST) -> bool:
    """`int(x.argmax())`, `int(x.argmax().item())`, `torch.argmin(x).item()`."""
    while isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _PLACES:
            return True
        if called not in _CONVERTS:
            return False
        inner = node.args[0] if node.args else getattr(node.func, "value", None)
        if inner is None:
            return False
        node = inner
    return False
