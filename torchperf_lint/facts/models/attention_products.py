"""The two products of attention: queries with transposed keys, and weights with values, however they are written.

q @ k.transpose(-2, -1)        torch.bmm(q, k.mT)        einsum("b h i d, b j d -> b h i j", q, k)

Which dimension of the scores belongs to the keys is counted from the last one: -1 in all three.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import literal_of
from torchperf_lint.patterns import pattern

_SWAPS = frozenset(map(frozenset, ((-1, -2), (2, 3), (1, 2), (-2, 3), (-1, 3), (-1, 2))))
_LETTER = pattern(r"\w+|\.\.\.|\([^)]*\)")
_RANKS = {"bmm": 3, "baddbmm": 3}


class Scores(NamedTuple):
    """Queries and keys of their product."""

    queries: ast.expr
    keys: ast.expr
    of_keys: frozenset[int] = frozenset({-1})
    """The dimensions that are the keys', counted from the last."""
    rank: int | None = None
    by_channels: bool = False
    """Whether a product takes rows of channels: "b d i, b d j -> b i j"."""
    as_they_lie: bool = False
    """Whether the keys were transposed before, so that the product takes both as they are."""


def scores(node: ast.expr) -> Scores | None:
    """Queries and keys of their product, where it is seen that keys are transposed; None for all other expressions."""
    if isinstance(node, ast.Call) and last_part(chain(node.func)) == "einsum":
        return _einsum_scores(node)
    both = factors(node)
    if both is None:
        return None
    keys = swapped(both[1])
    if keys is None or swapped(both[0]) is not None:
        return None
    return Scores(both[0], keys, rank=rank_of(node) or _rank_told(both[1]))


def rank_of(product: ast.expr) -> int | None:
    """How many dimensions a product has, if its name says so."""
    return _RANKS.get(last_part(chain(product.func))) if isinstance(product, ast.Call) else None


def weighs(node: ast.expr, weights: ast.expr, axis: int) -> bool:
    """Whether a node is the product of weights with values that sums over a dimension of the weights."""
    if isinstance(node, ast.Call) and last_part(chain(node.func)) == "einsum":
        return _einsum_sums(node, weights, axis)
    both = factors(node)
    return both is not None and ((both[0] is weights and axis == -1) or (both[1] is weights and axis == -2))


def factors(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The operands of a product of matrices."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call):
        return None
    name = last_part(chain(node.func))
    if name == "baddbmm" and len(node.args) == 3:
        return node.args[1], node.args[2]
    if node.keywords or name not in ("matmul", "bmm"):
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


def swapped(node: ast.expr) -> ast.expr | None:
    """What a node is the transpose of: its last dimension comes before the last one."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr == "mT" else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in ("contiguous", "to", "float", "type_as"):
        return swapped(node.func.value)
    inner, _ = _turned(node)
    return inner if inner is not None and moved(node, -1) == -2 else None


def moved(node: ast.Call, axis: int) -> int | None:
    """Where a dimension is after `transpose`, `permute` or `rearrange`; None where that is not seen."""
    name = last_part(chain(node.func))
    if name == "rearrange":
        return _rearranged(node, axis)
    _, numbers = _turned(node)
    if name == "permute":
        places = [place for place, number in enumerate(numbers) if number in (axis, axis + len(numbers))]
        return places[0] - len(numbers) if len(places) == 1 else None
    swaps = frozenset(numbers) in _SWAPS and len(numbers) == 2
    return {-1: -2, -2: -1}.get(axis) if swaps else None


def _turned(node: ast.Call) -> tuple[ast.expr | None, list[int | None]]:
    """What a call transposes, and the dimensions that it names."""
    if not isinstance(node.func, ast.Attribute) or node.func.attr not in (
        "transpose",
        "swapaxes",
        "swapdims",
        "permute",
    ):
        return None, []
    inner, given = node.func.value, node.args
    if chain(inner) == "torch" and given:
        inner, given = given[0], given[1:]
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        given = given[0].elts
    return inner, [_integer(argument) for argument in given]


def _integer(node: ast.expr) -> int | None:
    said = literal_of(node)
    return said if type(said) is int else None


def _rank_told(keys: ast.expr) -> int | None:
    """How many dimensions keys have by how they are transposed: `(1, 2)` are the last two of three."""
    while isinstance(keys, ast.Call) and isinstance(keys.func, ast.Attribute):
        _, numbers = _turned(keys)
        if keys.func.attr == "permute":
            return len(numbers)
        if numbers:
            return {frozenset({1, 2}): 3, frozenset({2, 3}): 4}.get(frozenset(n for n in numbers if n is not None))
        keys = keys.func.value
    return None


def _rearranged(node: ast.Call, axis: int) -> int | None:
    said = next((a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)), "")
    before, _, after = (_letters(part) for part in said.partition("->"))
    if len(before) < -axis or before[axis] not in after:
        return None
    return after.index(before[axis]) - len(after)


def _einsum_scores(node: ast.Call) -> Scores | None:
    """The operands of an einsum that sums over one dimension and keeps a batch."""
    said = _einsum(node)
    if said is None or len(said.result) < 3:
        return None
    first, second = map(set, said.inputs)
    summed = first & second - {*said.result}
    if len(summed) != 1 or first | second != {*said.result} | summed or not first & second - summed:
        return None
    if not first - second or not second - first:
        return None
    of_keys = frozenset(
        place - len(said.result) for place, letter in enumerate(said.result) if letter in second - first
    )
    by_channels = said.inputs[0][-1] in said.result and said.inputs[0][-1] not in second
    return Scores(*said.operands, of_keys, len(said.result), by_channels)


def _einsum_sums(node: ast.Call, weights: ast.expr, axis: int) -> bool:
    """Whether a dimension of the weights is summed: `"b h i j, h g -> b g i j"` mixes heads, no values."""
    said = _einsum(node)
    if said is None or weights not in said.operands:
        return False
    own = said.inputs[said.operands.index(weights)]
    other = said.inputs[1 - said.operands.index(weights)]
    summed = {*own} & {*other} - {*said.result}
    covered = {*own} | {*other} == {*said.result} | summed
    return covered and len(own) >= -axis and own[axis] in summed


class _Einsum(NamedTuple):
    operands: tuple[ast.expr, ast.expr]
    inputs: tuple[list[str], list[str]]
    result: list[str]


def _einsum(node: ast.Call) -> _Einsum | None:
    """An einsum of two operands, which may be given in a list, or before what is said of them."""
    given = [_plain(e) for a in node.args for e in (a.elts if isinstance(a, ast.List | ast.Tuple) else [a])]
    said = [a for a in given if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    operands = [a for a in given if a not in said]
    if len(said) != 1 or len(operands) != 2 or any(isinstance(a, ast.Starred) for a in operands):
        return None
    left, arrow, right = str(said[0].value).partition("->")
    inputs = [_letters(part) for part in left.split(",")]
    if not arrow or len(inputs) != 2 or not all(inputs):
        return None
    return _Einsum((operands[0], operands[1]), (inputs[0], inputs[1]), _letters(right))


def _plain(node: ast.expr) -> ast.expr:
    """A text that is formatted, with nothing in it: `f"b i d, b j d -> b i j"`."""
    said = node.values[0] if isinstance(node, ast.JoinedStr) and len(node.values) == 1 else None
    return said if isinstance(said, ast.Constant) else node


def _letters(text: str) -> list[str]:
    """The dimensions of one operand: words where they are written apart, letters else."""
    text = text.strip()
    return _LETTER.findall(text) if " " in text else list(text.replace("...", "."))
