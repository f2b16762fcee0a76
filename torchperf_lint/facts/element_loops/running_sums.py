"""Loops that do nothing but keep the sum of what has gone by: `torch.cumsum` gives all of these sums at once.

total = 0
for i in range(len(shares)):
    total = total + shares[i]
    bounds.append(total)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of

_AT_ONCE: dict[type[ast.operator], str] = {ast.Add: "cumsum", ast.Mult: "cumprod"}
_STATEMENTS = 2


def running_sum(loop: ast.AST) -> tuple[str, str] | None:
    """The name of the sum that a loop keeps, and torch's function that gives all of them; None for other loops."""
    if not isinstance(loop, ast.For) or loop.orelse or len(loop.body) != _STATEMENTS:
        return None
    added, kept = loop.body
    found = _added(added)
    if found is None or not _keeps(kept, found[0]):
        return None
    return found[0], _AT_ONCE[type(found[1])]


def _added(node: ast.stmt) -> tuple[str, ast.operator] | None:
    """`total += x[i]`, `total = total + x[i]`, `total = x[i] * total`: the name, and how."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        name, op, other = node.target.id, node.op, node.value
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and len(node.targets) == 1:
        name, op = chain(node.targets[0]), node.value.op
        sides = (node.value.left, node.value.right)
        others = [side for side in sides if chain(side) != name]
        other = others[0] if len(others) == 1 else node.value
    else:
        return None
    return (name, op) if type(op) in _AT_ONCE and name not in names_of(other) else None


def _keeps(node: ast.stmt, name: str) -> bool:
    """`bounds.append(total)`, `bounds[i] = total`."""
    if isinstance(node, ast.Assign):
        return len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript) and chain(node.value) == name
    call = node.value if isinstance(node, ast.Expr) else None
    appends = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    return appends and isinstance(call, ast.Call) and [chain(argument) for argument in call.args] == [name]
