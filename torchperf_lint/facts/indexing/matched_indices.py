"""Indices that another function made in host memory, of what it read from the device, as matchers do.

    indices = self.matcher(outputs, targets)       # pairs of host tensors, of scipy's assignment
    rows = self.rows_of(indices)                   # `torch.cat` of them
    target[rows] = 0; loss(logits[rows])           # each copies them

What several subscripts use of them is copied as often; a copy of the whole, where it is made, would do for all.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import HOST, Value
from torchperf_lint.model import Confidence

_LONGEST = 4
"""Bindings between an index and what it is taken from."""


def matched_elsewhere(spot: Spot, index: ast.expr) -> str | None:
    """The variable that indices in host memory are taken from, which several subscripts of the function use.

    None where the function makes them itself, and where nothing tells that they are there.
    """
    if not isinstance(index, ast.Name) or not _is_on_host(_value(spot, index)):
        return None
    origin = _origin(spot, index)
    return origin if origin is not None and _uses(spot, origin) > 1 else None


def _value(spot: Spot, node: ast.expr) -> Value:
    """What an expression of the function is where it stands, be that before the spot."""
    body = spot.file.project.body(spot.file.path)
    at = body.at(node) if body is not None else spot.frame.at
    return spot.file.project.values.of(node, spot.frame._replace(at=at))


def _is_on_host(value: Value) -> bool:
    """Whether a tensor, or each of a tuple of them, is on the host; what only may be a tensor is none."""
    if value.kind == "sequence" and value.items:
        return all(_is_on_host(part) for part in value.items)
    return value.kind == "tensor" and value.device == HOST and value.confidence is Confidence.CERTAIN


def _origin(spot: Spot, index: ast.Name) -> str | None:
    """The parameter, or the variable that a call of the project was assigned to, which an index is taken from."""
    body = spot.file.project.body(spot.file.path)
    given = {parameter.name for parameter in spot.file.outline.functions[spot.function].parameters}
    name = index
    for _ in range(_LONGEST if body is not None else 0):
        reaching = body.reaching(spot.function, name.id, body.at(name))  # type: ignore[union-attr]
        if not reaching or (name.id in given and len(reaching) == 1 and reaching[0].within is None):
            return name.id if name.id in given else None
        before = _taken_from(spot, reaching[0]) if len(reaching) == 1 else None
        if before is None:
            return name.id if all(_is_made_by_project(spot, d) for d in reaching) else None
        name = before
    return None


def _taken_from(spot: Spot, d: Definition) -> ast.Name | None:
    """What a name is an element of, `for t, (_, j) in zip(targets, indices)`, or a helper computed it of."""
    value = d.value
    if d.how == "loop" and isinstance(value, ast.Call):
        walked = chain(value.func)
        place = d.index[0] if d.index else 0
        place = {"zip": place, "enumerate": place - 1}.get(walked, -1)
        value = value.args[place] if 0 <= place < len(value.args) else None
        return value if isinstance(value, ast.Name) else None
    if d.how == "loop":
        return value if isinstance(value, ast.Name) else None
    if d.how not in ("assign", "item") or not isinstance(value, ast.Call):
        return None
    names = [a for a in value.args if isinstance(a, ast.Name)]
    held = [a for a in names if _holds_host_tensors(_value(spot, a))]
    return held[0] if len(held) == 1 else None


def _holds_host_tensors(value: Value) -> bool:
    while value.kind == "sequence" and value.item is not None:
        value = value.item
    return value.kind == "tensor" and value.device == HOST


def _is_made_by_project(spot: Spot, d: Definition) -> bool:
    """Whether a call of the project gives it: not torch, of which the function could ask for the device itself."""
    if d.how not in ("assign", "item") or not isinstance(d.value, ast.Call):
        return False
    values = spot.file.project.values
    return bool(values.types.targets(spot.file.path, spot.function, chain(d.value.func)))


def _uses(spot: Spot, origin: str) -> int:
    """How often the function indexes what may be on the device by something that is taken from a variable."""
    uses = 0
    for node in spot.file.enclosing(spot.function).parents:
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Name):
            continue
        indexed = _value(spot, node.value)
        if indexed.kind not in ("tensor", "unknown", "batch") or indexed.device == HOST:
            continue
        if _is_on_host(_value(spot, node.slice)) and _origin(spot, node.slice) == origin:
            uses += 1
    return uses
