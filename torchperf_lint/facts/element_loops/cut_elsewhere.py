"""Attributes that another method of their class keeps to a length: what is joined to them in each call cannot pile up.

    def before(self, x):
        self.memory = refresh(self.memory[:, : self.length], x)     # cut again before each call

    def after(self, x):
        self.memory = torch.cat([x, self.memory], dim=1)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.expressions_written import as_written


def cut_elsewhere(site: Site, attribute: str) -> bool:
    """Whether a method of the class makes `self.attribute` anew of a part of it."""
    index, body = site.file.project.index, site.file.project.body(site.file.path)
    cls = index.class_of(site.file.path, site.function)
    if cls is None or body is None:
        return False
    methods = index.record(cls).methods.values()
    values = (value for method in methods for value, _ in body.self_assigned(method, attribute))
    return any(is_a_part(node, f"self.{attribute}") for value in values for node in ast.walk(value))


def is_a_part(node: ast.AST | None, whole: str) -> bool:
    """`x[-n:]`, `self.memory[:, :n]`, of what is written so."""
    if not isinstance(node, ast.Subscript) or as_written(node.value) != whole:
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) and (part.lower is not None or part.upper is not None) for part in parts)
