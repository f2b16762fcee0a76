"""Elements of a tensor that a loop goes through and does not change: one copy before the loop reads them all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.bindings import Definition
from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.deciding import asks_about
from torchperf_lint.facts.source import Place
from torchperf_lint.facts.value import DEVICE

_HOPS = 3
_Loop = ast.For | ast.AsyncFor


def known_before_loop(place: Place, node: ast.expr) -> bool:
    """Whether all that is read is such elements: `t.item()` and `t >= 900` in `for t in timesteps`; `sigmas[i]`.

    Only of tensors that are known to be on the device: what a loop goes through is often on the host.
    """
    loops = [loop for loop in place.file.enclosing(place.function).loops(node) if isinstance(loop, _Loop)]
    if not loops:
        return False
    parts = list(_tensors(place, node))
    return bool(parts) and all(_is_element(place, loops, part, 0) for part in parts)


def _tensors(place: Place, node: ast.expr) -> Iterator[ast.expr]:
    """The names, attributes and items in an expression that are tensors; of `x[i]` the item and not `x`."""
    stack: list[ast.AST] = [node]
    while stack:
        current = stack.pop()
        if asks_about(current):
            continue
        if isinstance(current, ast.Call):
            # Of `t.expand(n)` and `torch.sqrt(t)` the receiver and the arguments, and not the function.
            own = _receiver(place, current)
            if isinstance(own, ast.Name | ast.Attribute | ast.Subscript):
                yield own
            elif own is not None:
                stack.append(own)
            stack += [*current.args, *(k.value for k in current.keywords)]
        elif isinstance(current, ast.Name | ast.Attribute | ast.Subscript):
            if place.file.value(current, place).kind in ("tensor", "batch"):
                yield current
        else:
            stack += ast.iter_child_nodes(current)


def _receiver(place: Place, call: ast.Call) -> ast.expr | None:
    """What a method is called of; nothing of a library's function."""
    if not isinstance(call.func, ast.Attribute):
        return None
    known = place.file.denotes(call.func.value, place)
    return call.func.value if known is None or "()" in known else None


def _is_element(place: Place, loops: list[_Loop], node: ast.expr, hops: int) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_item(place, loops, node) or _is_element(place, loops, node.value, hops)
    if not isinstance(node, ast.Name) or hops > _HOPS:
        return False
    body = place.file.project.body(place.file.path)
    reaching = body.reaching(place.function, node.id, body.at(node)) if body is not None else None
    return bool(reaching) and all(_gives_element(place, loops, d, node, hops) for d in reaching or ())


def _gives_element(place: Place, loops: list[_Loop], given: Definition, name: ast.Name, hops: int) -> bool:
    if given.how == "loop":
        return any(loop.iter is given.value for loop in loops) and place.file.value(name, place).device == DEVICE
    if given.how != "assign" or given.value is None or not any(given.value in ast.walk(loop) for loop in loops):
        return False
    parts = list(_tensors(place, given.value))
    return bool(parts) and all(_is_element(place, loops, part, hops + 1) for part in parts)


def _is_item(place: Place, loops: list[_Loop], node: ast.Subscript) -> bool:
    """`sigmas[i]`, where the loop counts `i` and leaves `sigmas` as it is."""
    if not isinstance(node.value, ast.Name | ast.Attribute) or not isinstance(node.slice, ast.Name):
        return False
    loop = next((loop for loop in loops if node.slice.id in _names(loop.target)), None)
    if loop is None or place.file.value(node.value, place).device != DEVICE:
        return False
    return chain(node.value) not in set(_changed_in(loop))


def _names(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}


def _changed_in(loop: _Loop) -> Iterator[str]:
    """The chains that a loop binds, writes into, or calls a method of that works in place."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Name | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            yield chain(node)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            yield chain(node.value)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
            yield chain(node.func.value)
