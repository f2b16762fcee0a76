"""Batches that are objects of a class of the project, which moves them by a `to` or `cuda` of its own.

class Clouds:
    def to(self, device):
        self.points = self.points.to(device)
        return self
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.call_graph.index import FunctionKey, Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.loaders.batch_parts import is_part
from torchperf_lint.facts.loaders.loader_arguments import given
from torchperf_lint.facts.loaders.pinning import told_call
from torchperf_lint.facts.loaders.unpinnable import function_of
from torchperf_lint.facts.values.value import Frame, Value

_ASKED = "non_blocking"


class OwnMove(NamedTuple):
    """The method that moves a batch, where the batch is an object of a class of the project."""

    key: FunctionKey
    advice: str
    """What to write in it, and here."""


def own_move(site: Site, batch: Value) -> OwnMove | None:
    """What `batch.to(device)` runs, where the `collate_fn` of a loader hands out objects with a `to` of their own.

    None where that takes `non_blocking`, or whatever it is given: it is asked as a tensor is, then.
    """
    project, receiver = site.file.project, site.receiver
    if not isinstance(receiver, ast.Name) or not isinstance(site.call.func, ast.Attribute) or not batch.origins:
        return None
    if is_part(project.values, receiver.id, site.frame):
        return None
    things = [thing for origin in batch.origins for thing in _put_together(project, *origin)]
    found: dict[FunctionKey, Thing] = {}
    for thing in things:
        key = project.index.method(thing, site.call.func.attr)
        if key is not None and not _takes_it(project, key):
            found.setdefault(key, thing)
    first = next(iter(found), None)
    return OwnMove(first, _advice(project, found[first], first, len(found) - 1)) if first is not None else None


def waits_for_nothing(project: Project, move: OwnMove) -> bool:
    """Whether such a method asks its copies not to wait, whatever it is given itself."""
    node = _node(project, move.key)
    return node is not None and any(isinstance(n, ast.keyword) and n.arg == _ASKED for n in ast.walk(node))


def _advice(project: Project, thing: Thing, key: FunctionKey, others: int) -> str:
    method = project.index.function(key)
    pinned = project.index.method(thing, "pin_memory") is not None
    more = f", as {others} more of such classes," if others else ""
    return (
        f"`{method.qualname}` ({key.path}:{method.header_line}){more} takes no `{_ASKED}`: give it one, to hand on to "
        f"each copy that it makes, and pass `{_ASKED}=True` here"
        + ("" if pinned else "; without a `pin_memory` of its own the loader's thread cannot pin such a batch")
    )


def _takes_it(project: Project, key: FunctionKey) -> bool:
    node = _node(project, key)
    named = any(parameter.name == _ASKED for parameter in project.index.function(key).parameters)
    return named or not isinstance(node, ast.FunctionDef) or node.args.kwarg is not None


def _node(project: Project, key: FunctionKey) -> ast.AST | None:
    body = project.body(key.path)
    return body.functions.get(key.index) if body is not None else None


def _put_together(project: Project, path: str, line: int, column: int) -> list[Thing]:
    """The objects of classes of the project that the loader made there hands out as batches."""
    call = told_call(project, (path, line, column))
    collate = given(call, "collate_fn") if call is not None else None
    record = next((c for c in project.index.outlines[path].calls if (c.line, c.column) == (line, column)), None)
    if collate is None or record is None:
        return []
    key = function_of(project, project.values.thing(collate, Frame(path, record.function, (line, column))))
    things = project.types.returned(key) if key is not None else ()
    return [thing for thing in things if thing.kind == "instance"]
