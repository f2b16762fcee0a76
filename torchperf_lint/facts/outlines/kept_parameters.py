"""Attributes of an object that keep a parameter of its constructor as it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of


def keeping(node: ast.ClassDef, name: str) -> Iterator[str]:
    """The attributes of `self` that are bound to a plain name, and to nothing else in the class."""
    bound: dict[str, list[ast.expr]] = {}
    for statement in (n for n in nodes_of(node) if isinstance(n, ast.Assign)):
        for target in statement.targets:
            bound.setdefault(chain(target), []).append(statement.value)
    for kept, values in bound.items():
        if kept.startswith("self.") and all(isinstance(v, ast.Name) and v.id == name for v in values):
            yield kept
