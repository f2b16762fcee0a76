"""Whether reading a value may wait for an accelerator: what every rule about waits asks first."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.host_scripts import stays_on_host
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import ANYWHERE, Value
from torchperf_lint.model import Confidence


def on_device(file: SourceFile, place: Place, node: ast.expr) -> Value | None:
    """The value of an expression when reading it may wait for an accelerator, as sure as that is; else None."""
    value = file.value(node, place)
    if not value.on_device or stays_on_host(file) or _may_be_copied_by_now(file, place, node):
        return None
    if value.device != ANYWHERE:
        return value
    kind = place.hot.kind if place.hot is not None else ""
    return value.weaker(Confidence.LIKELY) if file.project.may_be_on_device(kind) else None


def holds_on_device(file: SourceFile, place: Place, node: ast.expr) -> Value | None:
    """Of a name for a list or mapping what it holds, where reading each of that may wait for an accelerator."""
    held = file.value(node, place).item if isinstance(node, ast.Name) else None
    if held is None or held.kind != "tensor" or not held.on_device or stays_on_host(file):
        return None
    kind = place.hot.kind if place.hot is not None else ""
    return held if held.device != ANYWHERE or file.project.may_be_on_device(kind) else None


def _may_be_copied_by_now(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """`if on_gpu: x = x.cpu()`: what is read after that is on the host, whatever else the name is bound to."""
    body = file.project.body(file.path)
    if body is None or not isinstance(node, ast.Name):
        return False
    found = body.reaching(place.function, node.id, file.span(node)[0]) or ()
    made = (d.value for d in found if d.how == "assign" and d.block and isinstance(d.value, ast.Call))
    return any(chain(call.func) == f"{node.id}.cpu" for call in made)
