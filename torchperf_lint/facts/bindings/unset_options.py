"""Options that are None unless somebody asks for more: `def __init__(self, limit=None): self.limit = limit`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from torchperf_lint.facts.outlines.signatures import defaulted
from torchperf_lint.facts.syntax.literals import is_none

Kept = tuple[str, ast.expr, bool]
"""(attribute, value, whether it is registered) of an assignment to `self.attribute`."""


def none_by_default(node: ast.AST | None) -> frozenset[str]:
    """The parameters of a function whose default is None."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset()
    return frozenset(name for name, default in defaulted(node.args) if is_none(default))


def unset_attributes(constructors: Iterable[tuple[ast.AST, Iterable[Kept]]]) -> frozenset[str]:
    """`self.limit` where every constructor that sets it keeps a parameter there which is None by default."""
    unset: dict[str, bool] = {}
    for node, assigned in constructors:
        parameters = none_by_default(node)
        for name, value, _ in assigned:
            unset[name] = unset.get(name, True) and isinstance(value, ast.Name) and value.id in parameters
    return frozenset(f"self.{name}" for name, is_unset in unset.items() if is_unset)
