"""Loops that do nothing but add up what their turns compute: `score += trans[tags[t - 1], tags[t]] * mask[t]`."""

from __future__ import annotations

import ast


def adds_up(loop: ast.AST) -> bool:
    """Whether the turns of a loop only bind names, and add to names: one sum over all turns does the same."""
    if not isinstance(loop, ast.For) or loop.orelse:
        return False
    added = [node for node in loop.body if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add | ast.Sub)]
    named = all(isinstance(node.target, ast.Name) for node in added)
    others = (node for node in loop.body if node not in added)
    return bool(added) and named and all(isinstance(node, ast.Assign) and _binds_names(node) for node in others)


def _binds_names(node: ast.Assign) -> bool:
    parts = [part for target in node.targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
    return all(isinstance(part, ast.Name) for part in parts)
