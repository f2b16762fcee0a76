"""Numbers that are read into a name, which divides where it is not zero: `ratio = hits / n if n > 0 else 0.0`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.deciding import guards_a_division
from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.syntax import nodes_of


def is_named_divisor(place: Place) -> bool:
    """Whether what a place reads gets a name that a branch asks whether it may divide by it."""
    around = place.file.enclosing(place.function)
    statement = around.statement(place.expression)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return False
    branches = (node for node in around.of_kinds((ast.If, ast.IfExp)) if isinstance(node, ast.If | ast.IfExp))
    return any(_asks(branch.test, target.id) and guards_a_division(branch) for branch in branches)


def _asks(test: ast.expr, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in nodes_of(test))
