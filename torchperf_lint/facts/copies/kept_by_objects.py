"""Tensors that an object keeps on the host, which was there before a loop, and that nobody changes meanwhile.

    def train_epoch(scene, model, optimizer, device):
        for i in order:
            image = scene.images[i].to(device)             # set once, by the constructor of the scene

Of objects that a turn makes itself, as batches are, the tensors are others in each turn; so is what is in a buffer
that some code of the project refills. Who else has the object is not seen, so it is `likely` at most.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.held import changed_in
from torchperf_lint.facts.constants.refilled import is_refilled
from torchperf_lint.facts.copies.left_behind import moves_its_own
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence


def kept_by_object(site: Site, node: ast.expr, span: tuple[Position, Position]) -> Value | None:
    """The tensor that `scene.images` is, in the loop of `span`; None where it may change, or lie on the device."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name) or node.value.id == "self":
        return None
    project, owner, name = site.file.project, node.value.id, node.attr
    body = project.body(site.file.path)
    if body is None or any(span[0] <= d.at < span[1] for d in body.definitions(site.function).get(owner, ())):
        return None
    thing = site.file.value(node.value, site).thing
    if thing is None or thing.kind != "instance" or name in project.index.attributes_of_others:
        return None
    if moves_its_own(project.values, thing):
        return None
    changes = [key for cls in project.index.ancestry(thing) for key in changed_in(project.values, cls, name)]
    if not changes or any(project.index.function(key).name != "__init__" for key in changes):
        return None
    whole, changed = chain(node), (use.endswith("_") for use, _ in body.uses(site.function, chain(node)))
    if any(changed) or body.stored_items(site.function, whole):
        return None
    value = site.file.value(node, site)
    kept = value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN
    if not kept or value.origins or is_refilled(project, name):
        return None
    return value.weaker(Confidence.LIKELY)
