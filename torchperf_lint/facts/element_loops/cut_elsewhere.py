"""Attributes that another method of their class keeps to a length: what is joined to them in each call cannot pile up.

    def before(self, x):
        self.memory = refresh(self.memory[:, : self.length], x)     # cut again before each call

    def after(self, x):
        self.memory = torch.cat([x, self.memory], dim=1)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain


def cut_elsewhere(site: Site, attribute: str) -> bool:
    """Whether a method of the class makes `self.attribute` anew of a part of it."""
    index, body = site.file.project.index, site.file.project.body(site.file.path)
    cls = index.class_of(site.file.path, site.function)
    if cls is None or body is None:
        return False
    methods = index.record(cls).methods.values()
    values = (value for method in methods for value, _ in body.self_assigned(method, attribute))
    return any(_is_a_part(node, attribute) for value in values for node in ast.walk(value))


def _is_a_part(node: ast.AST, attribute: str) -> bool:
    """`self.memory[-n:]`, `self.memory[:, :n]`."""
    if not isinstance(node, ast.Subscript) or chain(node.value) != f"self.{attribute}":
        return False
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(isinstance(part, ast.Slice) and (part.lower is not None or part.upper is not None) for part in parts)
