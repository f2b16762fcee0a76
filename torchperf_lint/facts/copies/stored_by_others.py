"""Copies that go into the entries of what another object keeps on the host: a store of results, often on disk.

self.saver.store["grads"][rows] = grads.cpu()     the rows of one batch, which no memory of the device could hold
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain

_OF_ANOTHER = 2
"""`self` and the object, before the attribute."""


def stored_by_others(site: Site) -> bool:
    """Whether a copy is all that an assignment puts into entries of an attribute of an object that `self` has."""
    statement = site.file.enclosing(site.function).statement(site.call)
    if not isinstance(statement, ast.Assign) or not _is_the_copy(statement.value, site.call):
        return False
    target = statement.targets[0]
    entry = isinstance(target, ast.Subscript)
    while isinstance(target, ast.Subscript):
        target = target.value
    parts = chain(target).split(".")
    return entry and parts[0] == "self" and len(parts) > _OF_ANOTHER


def _is_the_copy(value: ast.expr, copy: ast.expr) -> bool:
    """`x.cpu()`, or that through methods: `x.cpu().clone()`."""
    while value is not copy and isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return value is copy
