"""Tensors that are asked for their truth again, though nothing has changed: the first answer would do."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.reads.truths import truths


def asked_before(place: Place) -> bool:
    """Whether a name that is tested was tested on the way to here, and not bound again since."""
    name = place.expression
    body = place.file.project.body(place.file.path)
    if not isinstance(name, ast.Name) or body is None:
        return False
    at = body.at(name)
    bound, block = body.reaching(place.function, name.id, at), body.block_of(place.function, at)
    if not bound:
        return False
    for spot in truths(place.file):
        earlier = spot.expression
        if spot.function != place.function or not isinstance(earlier, ast.Name) or earlier.id != name.id:
            continue
        there = body.at(earlier)
        passed = body.block_of(place.function, there)
        if there >= at or block[: len(passed)] != passed or not _asks_always(place, earlier):
            continue
        if body.reaching(place.function, name.id, there) == bound:
            return True
    return False


def _asks_always(place: Place, node: ast.AST) -> bool:
    """Whether whoever gets to a statement asks: it is the whole test, or what that asks first, but for a `not`."""
    for parent in place.file.enclosing(place.function).ancestors(node):
        first = isinstance(parent, ast.BoolOp) and parent.values[0] is node
        if not first and not isinstance(parent, ast.UnaryOp):
            return isinstance(parent, ast.If | ast.Assert)
        node = parent
    return False
