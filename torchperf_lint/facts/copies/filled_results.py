"""Dicts that a function only fills and gives back: `maps = {}`, `maps[layer] = x.cpu().numpy()`, `return maps`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.enclosing import Enclosing


def goes_into_result(around: Enclosing, node: ast.AST) -> bool:
    """Whether a statement puts a value, as it is, into a dict or list which the function gives back as it is."""
    statement = around.statement(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and statement.value is node:
        return _is_given_back(around, target.value.id)
    entries = statement.value.values if isinstance(statement.value, ast.Dict) else []
    return isinstance(target, ast.Name) and node in entries and _is_given_back(around, target.id)


def _is_given_back(around: Enclosing, name: str) -> bool:
    uses = [node for node in around.parents if isinstance(node, ast.Name) and node.id == name]
    told = [_use(around, use) for use in uses if isinstance(use.ctx, ast.Load)]
    return "returned" in told and "other" not in told


def _use(around: Enclosing, use: ast.Name) -> str:
    """What is done with the container: it is returned, filled, asked whether anything is in it, or another thing."""
    parent = next(iter(around.ancestors(use)), None)
    if isinstance(parent, ast.Return):
        return "returned"
    if isinstance(parent, ast.Subscript) and parent.value is use and isinstance(parent.ctx, ast.Store):
        return "filled"
    asked = isinstance(parent, ast.If) or (isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not))
    return "asked" if asked else "other"
