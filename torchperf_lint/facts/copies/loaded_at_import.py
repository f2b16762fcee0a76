"""Tensors that a file of Python loads when it is imported, into host memory: `TABLE = torch.load(path)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.files.source import Site
from torchperf_lint.facts.outlines.records import END_OF_FILE
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import HOST, Frame, Value, tensor
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence


def loaded_at_import(values: Values, name: ast.Name, frame: Frame) -> Value | None:
    """What a name of the file was loaded into, by `torch.load`, for who moves it; None for other names.

    A dict of tensors has no `to` of its own; what was saved on a device, and is not mapped, may come back to one.
    """
    body = values.body(frame.path)
    if body is None or frame.function == 0 or not name.id.isupper() or body.definitions(frame.function).get(name.id):
        return None
    bound = body.reaching(0, name.id, END_OF_FILE) or ()
    made = bound[0].value if len(bound) == 1 and bound[0].how == "assign" else None
    if not isinstance(made, ast.Call):
        return None
    there = frame.hop(frame.path, 0, body.at(made))
    thing = values.thing(made.func, there)
    if thing is None or thing.kind != "external" or thing.dotted not in ("torch.load", "torch.serialization.load"):
        return None
    mapped = keyword(made, "map_location")
    if mapped is not None and device_of(values, mapped, there) != HOST:
        return None
    because = f"`{name.id}` is loaded by `torch.load` (line {made.lineno}), at import"
    return tensor(HOST, because, Confidence.LIKELY)


def is_called_once_moved(site: Site) -> bool:
    """Whether what a call moves is a whole model: `MODEL.to(d)(x)`, `m = MODEL.to(d).eval()` and then `m(x)`."""
    around = site.file.enclosing(site.function)
    moved: ast.AST = site.call
    for parent in around.ancestors(moved):
        called = isinstance(parent, ast.Call) and parent.func is moved
        if called and not isinstance(moved, ast.Attribute):
            return True
        if not called and not isinstance(parent, ast.Attribute):
            break
        moved = parent
    statement = around.statement(site.call)
    targets = statement.targets if isinstance(statement, ast.Assign) and statement.value is moved else []
    names = {chain(held) for held in (site.receiver, *targets) if isinstance(held, ast.Name | ast.Attribute)}
    return any(call.function == site.function and call.callee in names for call in site.file.outline.calls)
