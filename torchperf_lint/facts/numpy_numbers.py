"""Calls of numpy's that give one number and no array: `np.log(10000)`, `np.prod(shape)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_OF_EACH = frozenset(
    "abs absolute exp log log2 log10 log1p expm1 sqrt square cbrt power sin cos tan tanh arctan arctan2 floor ceil "
    "round rint sign mod floor_divide deg2rad rad2deg".split()
)
"""Functions that give a number where they are given numbers."""
_OF_ALL = frozenset({"prod", "product"})
"""Functions that give one number, the size of something, unless they are told an axis."""


def gives_a_number(values: Values, node: ast.Call, name: str, frame: Frame) -> bool:
    """Whether a call of the function `name` of numpy's gives one number."""
    if name in _OF_ALL:
        return len(node.args) == 1 and all(k.arg == "dtype" for k in node.keywords)
    if name not in _OF_EACH or not node.args or node.keywords:
        return False
    return all(_is_a_number(values, argument, frame) for argument in node.args)


def _is_a_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is plain and does not look like a shape, which is several numbers."""
    if isinstance(node, ast.Starred) or (isinstance(node, ast.Attribute) and node.attr == "shape"):
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return bool(node.args)
    return values.of(node, frame).kind == "plain"
