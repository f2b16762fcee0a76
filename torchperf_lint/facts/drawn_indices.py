"""Indices that numpy or Python draws of nothing but numbers: `rows = np.random.permutation(len(x))[:k]`, `x[rows]`.

The device can draw them as well, by a generator of its own; of elements that are given only the host has them.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.arguments import keyword
from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.index_uses import name_below
from torchperf_lint.facts.literals import is_literal
from torchperf_lint.facts.spots import Spot

_SIZE = {"numpy.random.permutation": None, "numpy.random.choice": 1, "numpy.random.randint": 2, "random.sample": 1}
"""What draws indices -> the argument without which it draws a single one."""
_UNEVEN = "p"


def drawn_index(spot: Spot, index: ast.expr) -> tuple[ast.Call, str] | None:
    """The call that draws an index, and what draws it on the device (`{device}` stands for that)."""
    call = _drawing(spot, index)
    thing = spot.file.project.values.thing(call.func, spot.frame) if call is not None else None
    drawn = thing.dotted if thing is not None and thing.kind == "external" else ""
    if call is None or drawn not in _SIZE or not _is_of_numbers(spot, call, drawn):
        return None
    if last_part(drawn) == "permutation":
        return call, "torch.randperm(n, device={device})"
    if last_part(drawn) == "sample" or is_literal(keyword(call, "replace") or _third(call), False):
        return call, "torch.randperm(n, device={device})[:k]"
    return call, "torch.randint(n, (k,), device={device})"


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
        return isinstance(first, ast.Call) and last_part(ast.unparse(first.func)) == "range"
    return spot.file.value(first, spot).kind == "plain"


def _third(call: ast.Call) -> ast.expr | None:
    return call.args[2] if len(call.args) == _MOST else None


_MOST = 3
"""Arguments of a draw; the fourth of `choice` are weights."""
