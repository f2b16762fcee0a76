"""Tensors that samples keep in host memory, and that a training loop copies again whenever it draws the sample.

    class View:
        def __init__(self, image):
            self.image = image.clamp(0, 1)                  # a tensor of the host

    for step in range(steps):
        view = views.pop(randint(0, len(views) - 1))        # as `views[i]`, `random.choice(views)`
        truth = view.image.cuda()

The objects were there before the loop; each copy is the same each time, from pageable memory. Batches are not meant:
who makes an object in the turn itself has new data in it.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.constants.held import changed_in
from torchperf_lint.facts.copies.left_behind import moves_its_own
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence

_DRAWS = frozenset({"pop", "choice", "popleft"})


def kept_by_sample(site: Site, node: ast.expr, span: tuple[Position, Position]) -> Value | None:
    """The tensor that `view.image` is, of an object that the loop of `span` draws; None where it may be another."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or site.hot is None:
        return None
    project, body = site.file.project, site.file.project.body(site.file.path)
    if body is None or site.hot.kind != "step" or site.hot.optional:
        return None
    bound = [d for d in body.definitions(site.function).get(node.value.id, ()) if span[0] <= d.at < span[1]]
    if not bound or not all(map(_is_drawn, bound)):
        return None
    thing, name = site.file.value(node.value, site).thing, node.attr
    if thing is None or thing.kind != "instance" or name in project.index.attributes_of_others:
        return None
    if moves_its_own(project.values, thing):
        return None
    changes = [key for cls in project.index.ancestry(thing) for key in changed_in(project.values, cls, name)]
    if not changes or any(project.index.function(key).name != "__init__" for key in changes):
        return None
    if body.stored_items(site.function, chain(node)):
        return None
    value = site.file.value(node, site)
    kept = value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN
    return value.weaker(Confidence.LIKELY) if kept and not value.origins else None


def _is_drawn(definition: Definition) -> bool:
    """`views.pop(i)`, `views[i]`, `random.choice(views)`: one of several objects that were there."""
    made = definition.value
    if definition.how != "assign":
        return False
    if isinstance(made, ast.Subscript):
        return not isinstance(made.slice, ast.Slice)
    return isinstance(made, ast.Call) and last_part(chain(made.func)) in _DRAWS
