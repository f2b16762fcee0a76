"""The two products of attention: queries with transposed keys, and weights with values, however they are written.

q @ k.transpose(-2, -1)        torch.bmm(q, k.mT)        einsum("b h i d, b h j d -> b h i j", q, k)
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.chains import chain, last_part
from torchperf_lint.patterns import pattern

_SWAPS = frozenset(
    {
        frozenset({-1, -2}),
        frozenset({2, 3}),
        frozenset({1, 2}),
        frozenset({-2, 3}),
        frozenset({3, -1}),
        frozenset({2, -1}),
    }
)
_LETTER = pattern(r"\w+|\.\.\.")


def scores(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """Queries and keys of their product; None for all other expressions."""
    if isinstance(node, ast.Call) and last_part(chain(node.func)) == "einsum":
        return _einsum(node, of_scores=True)
    both = _factors(node)
    if both is None:
        return None
    keys = _swapped(both[1])
    return (both[0], keys) if keys is not None and _swapped(both[0]) is None else None


def are_by_channels(product: ast.expr) -> bool:
    """Whether a product of scores takes rows of channels: "b d i, b d j -> b i j"."""
    said = product.args[0] if isinstance(product, ast.Call) and product.args else None
    if not isinstance(said, ast.Constant) or not isinstance(said.value, str):
        return False
    left, _, result = said.value.partition("->")
    return _letters(left.partition(",")[0])[-1:] == _letters(result)[-2:-1]


def is_weighting(node: ast.expr, weights: ast.expr) -> bool:
    """Whether a node is the product of attention weights with values."""
    if isinstance(node, ast.Call) and last_part(chain(node.func)) == "einsum":
        found = _einsum(node, of_scores=False)
        return found is not None and weights in found and _sums_keys(node, found.index(weights))
    both = _factors(node)
    return both is not None and both[0] is weights and _swapped(both[1]) is None


def _sums_keys(product: ast.Call, place: int) -> bool:
    """Whether the last dimension of one operand is summed: `"b h i j, h g -> b g i j"` mixes heads, no values."""
    said = next(str(a.value) for a in product.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
    inputs, _, result = said.partition("->")
    return _letters(inputs.split(",")[place])[-1] not in _letters(result)


def _factors(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left, node.right
    if not isinstance(node, ast.Call) or node.keywords or last_part(chain(node.func)) not in ("matmul", "bmm"):
        return None
    if len(node.args) == 2:
        return node.args[0], node.args[1]
    if len(node.args) == 1 and isinstance(node.func, ast.Attribute):
        return node.func.value, node.args[0]
    return None


def _swapped(node: ast.expr) -> ast.expr | None:
    """What a node is the transpose of, in its last two dimensions."""
    if isinstance(node, ast.Attribute):
        return node.value if node.attr == "mT" else None
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in ("contiguous", "to", "float", "type_as"):
        return _swapped(node.func.value)
    if node.func.attr not in ("transpose", "swapaxes", "swapdims", "permute"):
        return None
    numbers = [_number(argument) for argument in node.args]
    if node.func.attr == "permute":
        return node.func.value if numbers in ([0, 1, 3, 2], [0, 2, 1]) else None
    return node.func.value if frozenset(numbers) in _SWAPS and None not in numbers else None


def _number(node: ast.expr) -> int | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    if not isinstance(inner, ast.Constant) or type(inner.value) is not int:
        return None
    return -inner.value if negative else inner.value


def _einsum(node: ast.Call, of_scores: bool) -> tuple[ast.expr, ast.expr] | None:
    """The operands of an einsum that sums over one letter; for scores over one that both have at the same place."""
    said = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    operands = [a for a in node.args if a not in said]
    if len(said) != 1 or len(operands) != 2 or any(isinstance(a, ast.Starred) for a in operands):
        return None
    left, arrow, right = str(said[0].value).partition("->")
    inputs = [_letters(part) for part in left.split(",")]
    result = _letters(right)
    if not arrow or len(inputs) != 2 or len(result) < 3:
        return None
    summed = [letter for letter in inputs[0] if letter in inputs[1] and letter not in result]
    if len(summed) != 1 or set(inputs[0]) | set(inputs[1]) != {*result, *summed}:
        return None
    if not of_scores:
        return operands[0], operands[1]
    of_queries, of_keys = result[-2], result[-1]
    alone = of_queries not in inputs[1] and of_keys not in inputs[0]
    place = inputs[0].index(summed[0])  # last, or before the lengths: "b d i, b d j -> b i j"
    aligned = len(inputs[0]) == len(inputs[1]) and inputs[1][place] == summed[0]
    alike = {*inputs[0]} - {of_queries} == {*inputs[1]} - {of_keys}  # the same batch and heads
    return (operands[0], operands[1]) if alone and aligned and alike else None


def _letters(text: str) -> list[str]:
    """The dimensions of one operand: words where they are written apart, letters else."""
    text = text.strip()
    return _LETTER.findall(text) if " " in text else list(text.replace("...", "."))
