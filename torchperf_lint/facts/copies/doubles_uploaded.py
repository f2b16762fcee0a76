"""Maps that numpy makes in float64, copied to the device as they are, and only converted there.

    distances = np.zeros(masks.shape)
    ...
    weights = torch.from_numpy(distances)
    weights = weights.to(x.device).float()

Half of what crosses the bus is thrown away.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.copies.double_arrays import ARITHMETIC, KEEPS, TAKERS, makes_doubles
from torchperf_lint.facts.devices.devices import moves_to_device
from torchperf_lint.facts.files.source import Site, SourceFile
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_VIEWS = frozenset("view reshape unsqueeze squeeze permute transpose flatten contiguous expand repeat t".split())
"""Methods of tensors that leave the type what it is."""
_CASTS = frozenset({"float", "half", "bfloat16"})
_NARROW = frozenset({"torch.float32", "torch.float", "torch.float16", "torch.half", "torch.bfloat16"})
_SCIPY = frozenset({"scipy.ndimage.distance_transform_edt", "scipy.ndimage.morphology.distance_transform_edt"})
_DEPTH = 10
_HOPS = 2


class DoublesUploaded(NamedTuple):
    """A copy to the device of a tensor of float64 that is converted at once."""

    made: ast.expr
    """What makes the array."""
    cast: ast.Call
    """What converts the copy."""
    taken: ast.Call
    """What makes a tensor of the array, in the function that copies it."""


def doubles_uploaded(file: SourceFile, site: Site) -> DoublesUploaded | None:
    """What a call of `to` or `cuda` copies as float64, and the next call makes smaller; None for anything else."""
    cast = _cast_after(file, site)
    if cast is None or site.receiver is None or _converts(site.call):
        return None
    values = file.project.values
    given = _given(values, site.receiver, site.frame)
    made = _double(values, given[0].args[0], given[1], _DEPTH, _HOPS) if given is not None else None
    if made is None or given is None or not moves_to_device(values, site.call, site.frame):
        return None
    return DoublesUploaded(made, cast, given[0])


def _converts(node: ast.Call) -> bool:
    """`x.to(device, torch.float32)`."""
    return len(node.args) > 1 or any(k.arg in ("dtype", None) for k in node.keywords)


def _cast_after(file: SourceFile, site: Site) -> ast.Call | None:
    """`x.to(device).float()`, and with views of it between."""
    parents = file.enclosing(site.function).parents
    node: ast.expr = site.call
    while True:
        attribute = parents.get(node)
        call = parents.get(attribute) if isinstance(attribute, ast.Attribute) else None
        if not isinstance(call, ast.Call) or call.func is not attribute or not isinstance(attribute, ast.Attribute):
            return None
        if attribute.attr in _CASTS:
            return call
        if attribute.attr in ("type", "to") and len(call.args) == 1:
            return call if file.denotes(call.args[0], site) in _NARROW else None
        if attribute.attr not in _VIEWS:
            return None
        node = call


_Placed = tuple[ast.expr, Frame]


def _given(values: Values, node: ast.expr, frame: Frame) -> tuple[ast.Call, Frame] | None:
    """The call of `torch.from_numpy`, or its like, that has made what is copied, given an array and nothing else."""
    for _ in range(_DEPTH):
        placed = _bound(values, node, frame)
        if placed is None:
            return None
        node, frame = placed
        if not isinstance(node, ast.Call):
            return None
        thing = values.thing(node.func, frame)
        dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
        if dotted in TAKERS:
            return (node, frame) if len(node.args) == 1 and not node.keywords else None
        if dotted in api.VARIABLES and node.args:
            node = node.args[0]
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS:
            node = node.func.value
        else:
            return None
    return None


def _bound(values: Values, node: ast.expr, frame: Frame) -> _Placed | None:
    """What a name stands for, where that is one thing; any other expression itself."""
    if not isinstance(node, ast.Name):
        return node, frame
    body = values.body(frame.path)
    made = body.assigned_once(frame.function, node.id, frame.at) if body is not None else None
    return (made, frame._replace(at=body.at(made))) if made is not None and body is not None else None


def _double(values: Values, node: ast.expr, frame: Frame, depth: int, hops: int) -> ast.expr | None:
    """What makes an array of float64, where that is evident: through arithmetic, slices and helpers."""
    if depth == 0:
        return None
    if isinstance(node, ast.Name):
        placed = _bound(values, node, frame)
        return _double(values, *placed, depth - 1, hops) if placed is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ARITHMETIC):
        sides = (node.left, node.right)
        if any(values.of(side, frame).kind == "tensor" for side in sides):
            return None
        return next(filter(None, (_double(values, side, frame, depth - 1, hops) for side in sides)), None)
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return _double(values, node.value, frame, depth - 1, hops)
    if isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice)):
        return _double(values, node.value, frame, depth - 1, hops)
    return _called(values, node, frame, depth, hops) if isinstance(node, ast.Call) else None


def _called(values: Values, node: ast.Call, frame: Frame, depth: int, hops: int) -> ast.expr | None:
    thing = values.thing(node.func, frame)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    if dotted in _SCIPY:
        return node
    if dotted.startswith("numpy."):
        return node if makes_doubles(dotted.removeprefix("numpy."), node) else None
    targets = values.types.targets(frame.path, frame.function, chain(node.func)) if hops else []
    body = values.body(targets[0].path) if len(targets) == 1 else None
    if body is not None:
        return _returned(values, body, frame.hop(targets[0].path, targets[0].index, frame.at), depth, hops - 1)
    keeps = isinstance(node.func, ast.Attribute) and node.func.attr in KEEPS
    return _double(values, node.func.value, frame, depth - 1, hops) if keeps else None  # type: ignore[attr-defined]


def _returned(values: Values, body: Body, frame: Frame, depth: int, hops: int) -> ast.expr | None:
    """What a helper of the project returns, where all of that is of float64."""
    returned = body.returns(frame.function)
    found = [_double(values, node, frame._replace(at=body.at(node)), depth - 1, hops) for node in returned]
    return found[0] if found and all(found) else None
