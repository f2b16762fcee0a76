"""Tensors that an object keeps on the host, where the function around an inner one was given or made the object.

    def get_loss(schedule):
        def loss(model, batch):
            return model(batch * schedule.alphas.to(batch.device))
        return loss
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.copies.left_behind import moves_its_own
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.values.attributes import setters
from torchperf_lint.facts.values.value import HOST, Value, tensor
from torchperf_lint.model import Confidence


def held_around(site: Site, receiver: ast.Attribute) -> Value | None:
    """What an inner function that runs at every step moves of an object that was there before; else None."""
    project, owner = site.file.project, receiver.value
    record = site.file.outline.functions[site.function]
    if not isinstance(owner, ast.Name) or site.hot is None or site.hot.optional:
        return None
    if record.parent <= 0 or not _is_from_around(site, owner.id):
        return None
    if FunctionKey(site.file.path, record.parent) in project.hotness.functions:
        return None
    thing, name = site.file.value(owner, site).thing, receiver.attr
    if thing is None or thing.kind != "instance" or name in project.index.attributes_of_others:
        return None
    classes = [cls for cls in project.index.ancestry(thing) if cls.kind == "class"]
    if not any(setters(project.values, cls, name) for cls in classes) or moves_its_own(project.values, thing):
        return None
    value = site.file.value(receiver, site)
    if value.kind != "tensor" or value.device != HOST or value.confidence is not Confidence.CERTAIN:
        return None
    around = site.file.outline.functions[record.parent].name
    return tensor(HOST, f"`{owner.id}`, which `{around}` around this has, keeps it on the host: {value.because}")


def _is_from_around(site: Site, name: str) -> bool:
    """Whether the function around binds a name, or is given it, and the inner one does not."""
    body, functions = site.file.project.body(site.file.path), site.file.outline.functions
    inner = functions[site.function]
    if body is None or body.definitions(site.function).get(name) or any(p.name == name for p in inner.parameters):
        return False
    given = any(parameter.name == name for parameter in functions[inner.parent].parameters)
    return given or bool(body.definitions(inner.parent).get(name))
