"""Attributes that an object sets and nothing in the project reads: what is kept to be looked at, by nobody.

x, self.attn = attention(query, key, value)        # and no `.attn` is read of it, anywhere

Another class may have an attribute of that name, a layer mostly: it is read there of `self`, or called.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.syntax import nodes_of


def is_kept_unread(project: Project, path: str, function: int, target: ast.expr) -> bool:
    """Whether what a method assigns is an attribute of its object that no file in sight reads, nor names in a string.

    With files left out of sight nothing is said.
    """
    owner = project.index.class_of(path, function)
    if owner is None or not project.index.complete or not isinstance(target, ast.Attribute) or not _is_self(target):
        return False
    return not any(_reads(project, other, target.attr, owner) for other in project.index.outlines)


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _reads(project: Project, path: str, name: str, owner: Thing) -> bool:
    """Whether a file may read an attribute of the objects of a class."""
    if re.search(rf"""[.'"]{re.escape(name)}\b""", project.text(path)) is None:
        return False
    body = project.body(path)
    if body is None:
        return True
    nodes = nodes_of(body.functions[0])
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    for node in nodes:
        if isinstance(node, ast.Constant) and node.value == name:
            return True
        if not isinstance(node, ast.Attribute) or node.attr != name or not isinstance(node.ctx, ast.Load):
            continue
        if id(node) not in called and (not _is_self(node) or _is_of(project, path, node.lineno, owner)):
            return True
    return False


def _is_of(project: Project, path: str, line: int, owner: Thing) -> bool:
    """Whether the object of a line may be of a class; a line that stands in no class may speak of any."""
    functions = project.index.outlines[path].functions
    around = (number for number, f in enumerate(functions) if f.class_index >= 0 and f.line <= line <= f.end_line)
    classes = [project.index.class_of(path, number) for number in around]
    return not classes or any(cls is None or _are_kin(project, cls, owner) for cls in classes)


def _are_kin(project: Project, one: Thing, other: Thing) -> bool:
    """Whether one class derives from the other."""
    return any(
        (part.path, part.index) == (high.path, high.index)
        for low, high in ((one, other), (other, one))
        for part in project.index.ancestry(low)
    )
