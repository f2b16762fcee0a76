"""What of numpy is one number, and no array: `np.pi`, `np.log(2 * np.pi)`, `np.random.beta(a, a)`.

Arithmetic with a number leaves a tensor what and where it is; with an array nothing is known of it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.value import PLAIN, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

CONSTANTS = frozenset({"numpy.pi", "numpy.e", "numpy.inf", "numpy.nan", "numpy.euler_gamma", "numpy.newaxis"})
_ONE_BY_ONE = frozenset(
    "sqrt log log2 log10 log1p exp exp2 expm1 power square cbrt sin cos tan tanh sinh cosh arcsin arccos arctan "
    "arctan2 floor ceil rint round around abs absolute fabs sign maximum minimum clip mod deg2rad rad2deg hypot".split()
)
"""Functions of numbers that give of numbers a number."""
_OVER_ALL = frozenset({"prod", "sum", "mean", "max", "min", "amax", "amin", "std", "var", "median"})
"""Functions that give one number of what they are given, unless for an axis."""
_DRAWN = {
    "rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0,
    "exponential": 1, "poisson": 1, "beta": 2, "uniform": 2, "normal": 2, "randint": 2, "gamma": 2, "binomial": 2,
}  # fmt: skip
"""Of `numpy.random`, and after how many arguments the size stands, without which one number is drawn."""


def is_one_number(values: Values, node: ast.Call, dotted: str, frame: Frame) -> bool:
    """Whether a call of numpy gives one number: what it computes with is known to be numbers."""
    if node.keywords or not dotted.startswith("numpy.") or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    name = dotted.removeprefix("numpy.")
    drawn = _DRAWN.get(name.removeprefix("random."), -1) if name.startswith("random.") else -1
    if drawn >= 0:
        return len(node.args) <= drawn and all(_is_plain(values.of(a, frame)) for a in node.args)
    if name in _ONE_BY_ONE:
        return bool(node.args) and all(_is_plain(values.of(a, frame)) for a in node.args)
    return name in _OVER_ALL and len(node.args) == 1 and _is_shape(node.args[0], values, frame)


def _is_plain(value: Value) -> bool:
    return value == PLAIN


def _is_shape(node: ast.expr, values: Values, frame: Frame) -> bool:
    """`x.shape`, `x.size()`, `x.shape[1:]`, whose product is a number."""
    while isinstance(node, ast.Subscript):
        node = node.value
    node = node.func if isinstance(node, ast.Call) else node
    return isinstance(node, ast.Attribute) and node.attr in ("shape", "size") and _is_plain(values.of(node, frame))
