"""Tables that are moved to the device and then indexed by lists: `sigmas = self.sigmas.to(d)`, `sigmas[[3] * n]`.

The list is copied there as well. Where table and list are on the host, so is what is taken, which is the only copy that
is needed.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.syntax import nodes_of


def listed_after_move(site: Site) -> list[ast.Subscript]:
    """The subscripts, by lists of numbers, of the name that a moved table is bound to."""
    body = site.file.project.body(site.file.path)
    enclosing = site.file.enclosing(site.function)
    statement = enclosing.statement(site.call)
    if body is None or not isinstance(statement, ast.Assign) or statement.value is not site.call:
        return []
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return []
    found = []
    for node in nodes_of(body.functions[site.function]):
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name) or node.value.id != target.id:
            continue
        if body.assigned(site.function, target.id, body.at(node)) == [site.call] and _is_list(site, node.slice):
            found.append(node)
    return found


def _is_list(site: Site, index: ast.expr) -> bool:
    """A list of numbers, or a name that each branch binds to one."""
    body = site.file.project.body(site.file.path)
    if isinstance(index, ast.Name) and body is not None:
        bound = body.assigned(site.function, index.id, body.at(index))
        return bool(bound) and all(_is_list_of_numbers(site, value) for value in bound)
    return _is_list_of_numbers(site, index)


def _is_list_of_numbers(site: Site, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        node = node.left
    items = [node.elt] if isinstance(node, ast.ListComp) else node.elts if isinstance(node, ast.List) else []
    return bool(items) and all(site.file.value(item, site).kind not in _NO_NUMBERS for item in items)


_NO_NUMBERS = frozenset({"tensor", "batch", "sequence"})
