"""Attributes that hot code puts to the host and leaves there: the copy happens once, whatever runs it.

    def forward(self, x):
        self._iter = self._iter.cpu()       # from the second call on it is there already

Only where nothing that runs as often sets the attribute to something else.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.constants.held import changed_in
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.syntax.chains import chain

_SAME = frozenset({"detach", "data", "contiguous", "clone"})


def stays_there(site: Site) -> bool:
    """Whether a copy to the host is put back under the attribute that it was made of, and stays there."""
    statement = site.file.enclosing(site.function).statement(site.call)
    if not isinstance(statement, ast.Assign) or statement.value is not site.call or len(statement.targets) != 1:
        return False
    target, copied = statement.targets[0], _unwrapped(site.receiver)
    if not isinstance(target, ast.Attribute) or copied is None or ast.unparse(target) != ast.unparse(copied):
        return False
    values = site.file.project.values
    own = values.index.class_of(site.file.path, site.function)
    if chain(target.value) != "self" or own is None:
        return False
    here = FunctionKey(site.file.path, site.function)
    setters = {key for cls in values.index.ancestry(own) for key in changed_in(values, cls, target.attr)}
    hot = site.file.project.hotness.functions
    return not any(key in hot for key in setters - {here}) and _sets_once(site, ast.unparse(target))


def _unwrapped(node: ast.expr | None) -> ast.expr | None:
    """`self.mask` of `self.mask.detach()`."""
    while node is not None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            return node
    return None


def _sets_once(site: Site, written: str) -> bool:
    """Whether the function itself gives the attribute no other value, which each call would copy anew."""
    around = site.file.enclosing(site.function)
    given = (t for n in around.of_kinds((ast.Assign,)) if isinstance(n, ast.Assign) for t in n.targets)
    changed = (n.target for n in around.of_kinds((ast.AugAssign,)) if isinstance(n, ast.AugAssign))
    return sum(ast.unparse(target) == written for target in (*given, *changed)) == 1
