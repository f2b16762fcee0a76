"""Lists of numbers as indices that need not be lists: each use of one makes a tensor of it and copies that.

    rows = top.tolist()                            parts.append([i for i, n in enumerate(names) if n == name])
    x[rows]                # `x[top]` has it       ...
                                                   y[parts[k]] += layer(x[parts[k]])      # copied twice

A list that was read from the device was a tensor there; any other is copied once for all its uses.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.bindings.gathered import gathered
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.index_uses import turns_with
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import DEVICE
from torchperf_lint.model import Confidence

_LISTS = frozenset({"list", "sorted"})
_TO_HOST = frozenset({"tolist", "numpy", "cpu", "detach"})


def read_back(spot: Spot, index: ast.expr) -> ast.expr | None:
    """The tensor, which may be on the device, that a list or array was read from: `rows = top.tolist()`."""
    node = index
    if isinstance(index, ast.Name):
        bound = _bound(spot, index)
        node = bound[0] if len(bound) == 1 else index
    fetched = False
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _TO_HOST:
        fetched = fetched or node.func.attr in ("tolist", "numpy")
        node = node.func.value
    if not fetched:
        return None
    body = spot.file.project.body(spot.file.path)
    if body is None:
        return None
    value = spot.file.project.values.of(node, spot.frame._replace(at=body.at(node)))
    known = value.kind == "tensor" and value.on_device and value.confidence is not Confidence.POSSIBLE
    return node if known else None


def as_index(read: ast.expr) -> str:
    """A tensor as the index that a list of its rows was: each row of a transposed one picks along its own dimension."""
    whole = read.value if isinstance(read, ast.Attribute) and read.attr == "T" else None
    if isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute) and read.func.attr == "t" and not read.args:
        whole = read.func.value
    if whole is None:
        return ast.unparse(read)
    found = whole.func if isinstance(whole, ast.Call) and not whole.args and not whole.keywords else None
    if isinstance(found, ast.Attribute) and found.attr == "nonzero":
        return f"{ast.unparse(found)}(as_tuple=True)"
    return f"tuple({ast.unparse(read)})"


def used_several_times(spot: Spot, index: ast.expr) -> bool:
    """Whether a list of numbers, of the host's own, indexes more than one thing that may be on the device."""
    if not _is_list(spot, index):
        return False
    written, uses = ast.dump(index), 0
    for node in spot.file.enclosing(spot.function).parents:
        if not isinstance(node, ast.Subscript) or node.value is index or not _is_indexed_by(node, written):
            continue
        value = spot.file.value(node.value, spot.at(node))
        if value.kind == "tensor" and (value.on_device or value.device == DEVICE):
            uses += 2 if turns_with(spot, node, _bound_on(spot, index)) else 1
    return uses > 1


def _is_list(spot: Spot, index: ast.expr) -> bool:
    """Whether an expression is a list, and no tuple, which would be several indices."""
    body = spot.file.project.body(spot.file.path)
    if body is None:
        return False
    if isinstance(index, ast.Name):
        bound = _bound(spot, index)
        if not bound and not body.definitions(spot.function).get(index.id):
            return _is_given(spot, index)
        return bool(bound) and all(_makes_list(body, spot, index.id, made) for made in bound)
    if not isinstance(index, ast.Subscript) or not isinstance(index.value, ast.Name):
        return False
    at = body.at(index)
    items = gathered(body, spot.function, index.value.id, at)
    return bool(items) and all(isinstance(item, ast.ListComp) for item in items)


def _is_given(spot: Spot, index: ast.Name) -> bool:
    """Whether a parameter is a list: what is annotated so, or given so by callers; none beside other indices."""
    parameters = spot.file.outline.functions[spot.function].parameters
    value = spot.file.value(index, spot)
    if value.kind != "sequence" or all(p.name != index.id for p in parameters):
        return False
    return value.item is None or value.item.kind in ("plain", "unknown")


def _makes_list(body: Body, spot: Spot, name: str, made: ast.expr) -> bool:
    if isinstance(made, ast.ListComp):
        return spot.file.value(made.elt, spot.at(made)).kind in ("plain", "unknown")
    if isinstance(made, ast.Call):
        return chain(made.func) in _LISTS
    stored = gathered(body, spot.function, name, spot.file.span(spot.expression)[0])
    return bool(stored) and all(spot.file.value(item, spot.at(item)).kind == "plain" for item in stored)


def _bound(spot: Spot, name: ast.Name) -> list[ast.expr]:
    body = spot.file.project.body(spot.file.path)
    return body.assigned(spot.function, name.id, body.at(name)) if body is not None else []


def _bound_on(spot: Spot, index: ast.expr) -> list[int]:
    """The lines that bind what an index is made of."""
    body = spot.file.project.body(spot.file.path)
    names = [n for n in ast.walk(index) if isinstance(n, ast.Name)]
    at: list[Position] = []
    for name in names if body is not None else ():
        at += [d.at for d in body.reaching(spot.function, name.id, body.at(name)) or ()]  # type: ignore[union-attr]
    return [line for line, _ in at]


def _is_indexed_by(node: ast.Subscript, written: str) -> bool:
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return any(ast.dump(part) == written for part in parts)
