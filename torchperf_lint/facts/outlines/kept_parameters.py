"""Attributes of an object that keep a parameter of its constructor as it was given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import statements_in


def keeping(node: ast.ClassDef, name: str) -> Iterator[str]:
    """The attributes of `self` that are bound to a plain name, and to nothing else in the class."""
    bound: dict[str, list[ast.expr]] = {}
    for statement in statements_in(node):
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            bound.setdefault(chain(target), []).append(statement.value)  # type: ignore[attr-defined]
    for kept, values in bound.items():
        if kept.startswith("self.") and all(isinstance(v, ast.Name) and v.id == name for v in values):
            yield kept
