"""Indices that numpy or Python draws of nothing but numbers: `rows = np.random.permutation(len(x))[:k]`, `x[rows]`.

The device can draw them as well, by a generator of its own; of elements that are given only the host has them, and
what else uses the same indices, an array's rows, needs them there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.spots import Spot
from torchperf_lint.facts.indexing.index_uses import name_below
from torchperf_lint.facts.indexing.shuffled_indices import shuffles
from torchperf_lint.facts.syntax.arguments import keyword
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.facts.values.value import DEVICE

_SIZE = {"numpy.random.permutation": None, "numpy.random.choice": 1, "numpy.random.randint": 2, "random.sample": 1}
"""What draws indices -> the argument without which it draws a single one."""
_UNEVEN = "p"


def drawn_index(spot: Spot, index: ast.expr) -> tuple[ast.Call, str] | None:
    """The call that draws an index, and what draws it on the device (`{device}` stands for that)."""
    shuffled = shuffles(spot, index)
    if shuffled:
        needed = _is_needed_there(spot, index, [call.args[0] for call in shuffled])
        return None if needed else (shuffled[0], "torch.randperm(n, device={device})")
    call = _drawing(spot, index)
    thing = spot.file.project.values.thing(call.func, spot.frame) if call is not None else None
    drawn = thing.dotted if thing is not None and thing.kind == "external" else ""
    if call is None or drawn not in _SIZE or not _is_of_numbers(spot, call, drawn) or _is_needed_there(spot, index):
        return None
    if last_part(drawn) == "permutation":
        return call, "torch.randperm(n, device={device})"
    if last_part(drawn) == "sample" or is_literal(keyword(call, "replace") or _third(call), False):
        return call, "torch.randperm(n, device={device})[:k]"
    bounds = "low, high" if last_part(drawn) == "randint" and _has_lower_bound(call) else "n"
    return call, f"torch.randint({bounds}, (k,), device={{device}})"


def _has_lower_bound(call: ast.Call) -> bool:
    """`np.random.randint(5, n, k)`: what is drawn does not begin at zero."""
    both = len(call.args) > 1 or keyword(call, "high") is not None
    return both and not is_literal(call.args[0], 0)


def _is_needed_there(spot: Spot, index: ast.expr, apart: Sequence[ast.expr] = ()) -> bool:
    """Whether the name of an index is used for anything else than to choose elements of tensors on the device.

    `apart`: uses that do not count.
    """
    body, name = spot.file.project.body(spot.file.path), name_below(index)
    if body is None or name is None:
        return False
    uses = [use for use in body.reads(spot.function, name.id) if use not in apart]
    return not all(_chooses_there(spot, body, use) for use in uses)


def _chooses_there(spot: Spot, body: Body, use: ast.Name) -> bool:
    """Whether a subscript of a tensor on the device is made by a name, or by what `name_below` finds it in."""
    parents = spot.file.enclosing(spot.function).parents
    node, parent = _index_of(parents, use)
    if not isinstance(parent, ast.Subscript) or parent.slice is not node:
        return False
    value = on_device(spot.file, Spot(spot.file, parent, spot.function, spot.hot, body.at(parent)), parent.value)
    return value is not None and (value.kind == "tensor" or (value.kind == "batch" and value.device == DEVICE))


def _index_of(parents: dict[ast.AST, ast.AST], node: ast.AST) -> tuple[ast.AST, ast.AST | None]:
    """What a name is cut or converted into, or stands beside, before anything takes it; and what takes that."""
    while True:
        parent = parents.get(node)
        cut = isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.slice, ast.Slice)
        called = isinstance(parent, ast.Call) and parent.func is node
        converted = isinstance(parent, ast.Attribute) and parent.attr in _CONVERTS
        if parent is None or not (cut or called or converted or isinstance(parent, ast.Tuple)):
            return node, parent
        node = parent


_CONVERTS = frozenset({"astype", "copy"})
"""Methods of arrays that give the same indices."""


def _drawing(spot: Spot, index: ast.expr) -> ast.Call | None:
    """The call that an index is, is bound to, or is cut from: `order[:k]`, `rows.astype(int)`."""
    body = spot.file.project.body(spot.file.path)
    below = name_below(index)
    if below is not None and body is not None:
        index = body.assigned_once(spot.function, below.id, body.at(below)) or index
    while isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Slice):
        index = index.value
    return index if isinstance(index, ast.Call) else None


def _is_of_numbers(spot: Spot, call: ast.Call, drawn: str) -> bool:
    """Whether numbers are drawn, several and evenly: not of an array or list, and not with weights."""
    size = _SIZE[drawn]
    several = size is None or len(call.args) > size or any(keyword(call, name) is not None for name in ("size", "k"))
    if not several or not call.args or any(k.arg in (_UNEVEN, None) for k in call.keywords) or len(call.args) > _MOST:
        return False
    first = call.args[0]
    if drawn == "random.sample":
        return isinstance(first, ast.Call) and chain(first.func) == "range" and len(first.args) == 1
    bounds = call.args[:2] if last_part(drawn) == "randint" else [first]
    return all(spot.file.value(bound, spot).kind == "plain" for bound in bounds)


def _third(call: ast.Call) -> ast.expr | None:
    return call.args[2] if len(call.args) == _MOST else None


_MOST = 3
"""Arguments of a draw; the fourth of `choice` are weights."""
