"""Whole tensors that go to the host for the place of the largest element of each row alone.

pred = output.cpu().numpy()             # all classes of all pixels
pred = np.argmax(pred, axis=1)          # one number of each pixel
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part

_ARRAYS = frozenset({"np", "numpy", "torch"})
_PLACES = frozenset({"argmax", "argmin"})
_AXES = ("axis", "dim")
_VIEWS = frozenset({"detach", "data", "numpy", "float", "clone", "copy", "squeeze"})
"""What leaves the elements as they are, after a copy."""


def reduced_on_host(file: SourceFile, site: Site) -> ast.Call | None:
    """The call that takes the largest element's place along an axis of what a copy brings, where nothing else does."""
    whole = _as_it_is(file, site)
    around = file.enclosing(site.function)
    parent = around.parents.get(whole)
    if isinstance(parent, ast.Assign) and parent.value is whole:
        used = _only_use(file, site, parent)
        return _place_of_largest(around.parents, used) if used is not None else None
    return _place_of_largest(around.parents, whole)


def _as_it_is(file: SourceFile, site: Site) -> ast.AST:
    """The copy with all that is asked of it at once that changes no element: `x.cpu().data.numpy()`."""
    parents = file.enclosing(site.function).parents
    node: ast.AST = site.call
    while True:
        parent = parents.get(node)
        if not isinstance(parent, ast.Attribute) or parent.attr not in _VIEWS:
            return node
        called = parents.get(parent)
        node = called if isinstance(called, ast.Call) and called.func is parent else parent


def _only_use(file: SourceFile, site: Site, bound: ast.Assign) -> ast.Name | None:
    """The one place that reads the name that a statement binds, before the name is bound again."""
    body = file.project.body(file.path)
    target = bound.targets[0]
    if body is None or len(bound.targets) != 1 or not isinstance(target, ast.Name):
        return None
    found = []
    for use in body.reads(site.function, target.id):
        reaching = body.reaching(site.function, target.id, body.at(use)) or []
        if any(definition.value is bound.value for definition in reaching):
            if len(reaching) > 1:
                return None
            found.append(use)
    return found[0] if len(found) == 1 else None


def _place_of_largest(parents: dict[ast.AST, ast.AST], node: ast.AST) -> ast.Call | None:
    parent = parents.get(node)
    if isinstance(parent, ast.Call) and parent.args[:1] == [node]:
        name = chain(parent.func)
        known = last_part(name) in _PLACES and name.rpartition(".")[0] in _ARRAYS
        return parent if known and _axis(parent, 1) else None
    called = parents.get(parent) if isinstance(parent, ast.Attribute) and parent.attr in _PLACES else None
    return called if isinstance(called, ast.Call) and called.func is parent and _axis(called, 0) else None


def _axis(call: ast.Call, position: int) -> bool:
    return len(call.args) > position or any(keyword(call, name) is not None for name in _AXES)
