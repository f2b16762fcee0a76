"""How queries and keys lie in memory before a product that transposes neither: what their names were bound to.

q = self.q(x).view(b, c, -1).permute(0, 2, 1)        k = self.k(x).view(b, c, -1)        torch.bmm(q, k)

A convolution gives channels before positions, a linear layer positions before channels; heads change nothing of that.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.models.attention_products import moved
from torchperf_lint.facts.models.position_dimensions import flattens_positions, position_dimension, sizes_of
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.syntax.chains import chain, last_part

SWAPPED, BY_CHANNELS = "swapped", "by channels"
_HOPS = 8
_SHAPED = frozenset({"view", "reshape"})
_PASSED = frozenset("contiguous float half to type type_as mul div clone detach normalize relu".split())


def pays_attention(body: Body, function: int, queries: ast.expr, keys: ast.expr, at: Position) -> bool:
    """Whether a product of two tensors as they are is one of queries with keys: one of them was transposed before."""
    places = position_dimension(body, function, queries, at), position_dimension(body, function, keys, at)
    if None not in places:
        return places == (-2, -1)
    right, rank = _last_done(body, function, keys, at)
    left, _ = _last_done(body, function, queries, at, rank)
    if right == BY_CHANNELS:
        return left == SWAPPED
    return right == SWAPPED and left is None


def rank_of(body: Body, function: int, node: ast.expr, at: Position) -> int | None:
    """How many dimensions the call that shaped a tensor last writes out; None where that is not seen."""
    for _ in range(_HOPS):
        if isinstance(node, ast.Name):
            reaching = body.reaching(function, node.id, at) or []
            value = reaching[0].value if len(reaching) == 1 and reaching[0].how == "assign" else None
            if value is None:
                return None
            node, at = value, reaching[0].at
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            node = node.left
        elif isinstance(node, ast.Call) and last_part(chain(node.func)) in (_SHAPED | {"permute"}):
            sizes = sizes_of(node)
            return None if len(sizes) < 3 or any(isinstance(size, ast.Starred) for size in sizes) else len(sizes)
        elif isinstance(node, ast.Call) and (inner := _inner(node)) is not None:
            node = inner
        else:
            return None
    return None


def layout(body: Body, function: int, node: ast.expr, at: Position) -> str | None:
    """What was last done to the order of the dimensions of a tensor: nothing that tells where None."""
    return _last_done(body, function, node, at)[0]


def _last_done(
    body: Body, function: int, node: ast.expr, at: Position, rank: int | None = None
) -> tuple[str | None, int | None]:
    """The same, and how many dimensions the tensor has if a permutation of them tells; `rank`: if something else did.

    Of four dimensions `transpose(1, 2)` takes heads before positions, and leaves the last two as they are.
    """
    for _ in range(_HOPS):
        if isinstance(node, ast.Name):
            value = body.assigned_once(function, node.id, at)
            if value is None:
                return None, None
            bound = [d for d in body.reaching(function, node.id, at) or [] if d.value is value]
            node, at = value, bound[0].at
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            node = node.left
        elif isinstance(node, ast.Call):
            told = "" if _takes_heads(node, rank) else _told(node)
            if told is not None:
                return told or None, _permuted(node)
            inner = _inner(node)
            if inner is None:
                return None, None
            node = inner
        else:
            return None, None
    return None, None


def _takes_heads(node: ast.Call, rank: int | None) -> bool:
    """Whether a call changes places of the two dimensions in the middle of four."""
    numbers = [ast.unparse(argument) for argument in node.args]
    if last_part(chain(node.func)) not in ("transpose", "swapaxes") or sorted(numbers) != ["1", "2"]:
        return False
    shaped = node.func.value if isinstance(node.func, ast.Attribute) else node
    if isinstance(shaped, ast.Call) and last_part(chain(shaped.func)) in _SHAPED:
        sizes = sizes_of(shaped)
        rank = rank if any(isinstance(size, ast.Starred) for size in sizes) else len(sizes)
    return rank == 4


def _permuted(node: ast.Call) -> int | None:
    """How many dimensions a permutation names."""
    written = chain(node.func)
    return len(sizes_of(node)) if last_part(written) == "permute" and written != "torch.permute" else None


def _inner(node: ast.Call) -> ast.expr | None:
    name = last_part(chain(node.func))
    if isinstance(node.func, ast.Attribute) and name in (_PASSED | _SHAPED | {"permute", "transpose"}):
        first = node.args[0] if node.args else None
        return first if name in ("normalize", "relu") else node.func.value
    return None


def _told(node: ast.Call) -> str | None:
    """What one call says; an empty text for what ends the search."""
    name = last_part(chain(node.func))
    if name in ("transpose", "permute", "swapaxes"):
        return SWAPPED if moved(node, -1) == -2 else None
    if name in _SHAPED:
        return BY_CHANNELS if flattens_positions(node) else None
    if name == "flatten":
        return BY_CHANNELS if [ast.unparse(a) for a in node.args] == ["2"] else ""
    if name == "rearrange":
        return _of_pattern(node)
    return None


def _of_pattern(node: ast.Call) -> str:
    said = next((a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), "")
    after = said.partition("->")[2].split()
    joined = " ".join(after)
    if joined.endswith(")"):  # "b c h w -> b c (h w)": what is joined last are positions, or heads with channels
        group = joined[joined.rindex("(") + 1 : -1].split()
        return BY_CHANNELS if {"h", "w"} == set(group) or {"x", "y"} == set(group) else ""
    place = moved(node, -1)
    return SWAPPED if place is not None and place < -1 else ""
