"""Names of several tensors, which some way through a function joins: `torch.stack(actions, -1)` takes no single one."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.files.source import Place, SourceFile

_JOINS = frozenset(
    "torch.stack torch.cat torch.concat torch.concatenate torch.hstack torch.vstack torch.dstack".split()
)
"""Functions that take nothing but several tensors."""


def is_joined(file: SourceFile, place: Place, name: ast.expr, body: Body) -> bool:
    """Whether the function joins what a name holds where it is read: then that is a list, whatever it is elsewhere."""
    if not isinstance(name, ast.Name):
        return False
    joins = [use for use in body.reads(place.function, name.id) if use is not name and _joins(file, place, use)]
    if not joins:
        return False
    held = body.reaching(place.function, name.id, body.at(name))
    return any(body.reaching(place.function, name.id, body.at(use)) == held for use in joins)


def _joins(file: SourceFile, place: Place, use: ast.Name) -> bool:
    call = file.enclosing(place.function).parents.get(use)
    return isinstance(call, ast.Call) and call.args[:1] == [use] and file.denotes(call.func, place) in _JOINS
