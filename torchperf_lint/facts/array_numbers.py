"""Calls of numpy's that give one number: of numbers, `np.log(2 * np.pi)`, or of a whole array, `np.prod(x.shape)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

CONSTANTS = frozenset(f"numpy.{name}" for name in "pi e inf nan euler_gamma".split())
_OF_NUMBERS = frozenset(
    "log log2 log10 log1p exp expm1 sqrt cbrt square sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh abs "
    "absolute fabs sign power float_power floor ceil rint trunc round deg2rad rad2deg radians degrees maximum "
    "minimum clip".split()
)
"""Give a number for numbers, an array for arrays."""
_OF_THE_WHOLE = frozenset("prod sum mean median max min amax amin std var".split())
"""Reduce all of what they are given, where no axis is named."""


def gives_a_number(values: Values, node: ast.Call, dotted: str, frame: Frame) -> bool:
    """Whether a call of a function of numpy's gives one number."""
    module, _, name = dotted.rpartition(".")
    if module != "numpy" or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    if name in _OF_NUMBERS:
        return not node.keywords and all(values.of(argument, frame).kind == "plain" for argument in node.args)
    if name not in _OF_THE_WHOLE or len(node.args) > 1 or node.keywords:
        return False
    given = values.of(node.args[0], frame)
    return given.kind in ("plain", "array") or (given.item is not None and given.item.kind == "plain")
