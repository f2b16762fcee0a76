"""Where the positions are among the dimensions of a tensor that was made of images, whatever was transposed since.

k = k.reshape(b, heads, channels, h * w)        # they are the last dimension: -1
k = k.permute(0, 3, 1, 2)                       # -3
k = k.transpose(1, 2).transpose(2, 3)           # -1 again
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import literal_of

_HOPS = 12
_SHAPED = frozenset({"view", "reshape"})
_SWAPS = frozenset({"transpose", "swapaxes", "swapdims"})
_PASSED = frozenset("contiguous float half to type type_as mul div clone detach".split())


def position_dimension(body: Body, function: int, node: ast.expr, at: Position) -> int | None:
    """The dimension of positions, counted from the last; None where not all of the way to `view` is seen."""
    turns: list[ast.Call] = []
    for _ in range(_HOPS):
        if isinstance(node, ast.Name):
            value = body.assigned_once(function, node.id, at)
            if value is None:
                return None
            bound = [d for d in body.reaching(function, node.id, at) or [] if d.value is value]
            node, at = value, bound[0].at
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            node = node.left
            continue
        method = node.func if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or not isinstance(method, ast.Attribute):
            return None
        if method.attr in _SHAPED:
            return _after(turns, len(sizes_of(node))) if flattens_positions(node) else None
        if method.attr in _SWAPS | {"permute"} and chain(method.value) != "torch":
            turns.append(node)
        elif method.attr not in _PASSED:
            return None
        node = method.value
    return None


def _after(turns: list[ast.Call], rank: int) -> int | None:
    """Where the last of so many dimensions is in the end; `turns`: what changes their order, the last first."""
    place: int | None = rank - 1
    for turn in reversed(turns):
        numbers = [literal_of(node) for node in sizes_of(turn)]
        if place is None or not all(type(n) is int for n in numbers):
            return None
        order = [n % rank for n in numbers if isinstance(n, int)]
        if last_part(chain(turn.func)) == "permute":
            place = order.index(place) if place in order and len(order) == rank else None
        elif len(order) == 2:
            place = {order[0]: order[1], order[1]: order[0]}.get(place, place)
        else:
            return None
    return place - rank if place is not None else None


def sizes_of(node: ast.Call) -> list[ast.expr]:
    """The numbers that a call of `view` or `permute` is given, one by one or in a tuple."""
    return node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], ast.Tuple | ast.List) else node.args


def flattens_positions(node: ast.Call) -> bool:
    """Whether a shape ends in all positions: `(b, c, -1)`, `(b, heads, c, h * w)`."""
    sizes = sizes_of(node)
    if len(sizes) < 3:
        return False
    last = sizes[-1]
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mult | ast.FloorDiv):
        return isinstance(last.op, ast.Mult) or len(sizes) == 3
    return len(sizes) == 3 and ast.unparse(last) == "-1"
