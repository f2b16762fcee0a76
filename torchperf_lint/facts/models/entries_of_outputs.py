"""Entries of what a model gives that a function takes out once, and that nothing else in it can see.

    out = model(batch)
    top10 = out["top10"].to(rank)        # nobody else reads out["top10"]: what becomes of `top10` becomes of it alone
    loss = out["loss"]

Where the mapping is handed on as a whole, somebody else may read the entry; `.to(rank)` of what is there is the same
tensor, so what changes it in place changes the mapping's as well.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.literals import is_text

_SAME = frozenset("to cuda detach clone float data contiguous mean sum".split())


def is_own_entry(site: Site, body: Body, value: ast.expr) -> bool:
    """Whether a value is an entry of a module's output that the function around a call reads nowhere else."""
    entry = _entry(value)
    if entry is None or not isinstance(entry.value, ast.Name) or not isinstance(entry.slice, ast.Constant):
        return False
    outputs, key = entry.value, entry.slice.value
    bound = body.reaching(site.function, outputs.id, body.at(outputs)) or ()
    made = [d.value for d in bound if d.how == "assign"]
    if len(bound) != 1 or len(made) != 1 or not isinstance(made[0], ast.Call):
        return False
    if site.file.value(made[0].func, site).kind != "module":
        return False
    parents = site.file.enclosing(site.function).parents
    uses = [(use, parents.get(use)) for use in body.reads(site.function, outputs.id)]
    return all(use is outputs or _is_apart(use, parent, key) for use, parent in uses)


def _entry(value: ast.expr) -> ast.Subscript | None:
    """`out["top10"]` of `out["top10"].to(rank)` and of `out["top10"][i]`."""
    node: ast.expr = value
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            node = node.func.value
        elif isinstance(node, ast.Subscript) and is_text(node.slice):
            return node
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            return None


def _is_apart(use: ast.Name, parent: ast.AST | None, key: object) -> bool:
    """Whether a use of the mapping has nothing to do with an entry: another one, a test for a key or for None."""
    if isinstance(parent, ast.Subscript) and parent.value is use:
        return isinstance(parent.ctx, ast.Load) and isinstance(parent.slice, ast.Constant) and parent.slice.value != key
    return isinstance(parent, ast.Compare)
