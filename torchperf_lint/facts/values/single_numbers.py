"""What of numpy is one number, and no array: `np.pi`, `np.log(2 * np.pi)`, `np.prod(x.shape)`, `np.random.beta(a, a)`.

Arithmetic with a number leaves a tensor what and where it is; with an array nothing is known of it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

CONSTANTS = frozenset(f"numpy.{name}" for name in "pi e inf nan euler_gamma newaxis".split())
_OF_NUMBERS = frozenset(
    "log log2 log10 log1p exp exp2 expm1 sqrt cbrt square sin cos tan sinh cosh tanh arcsin arccos arctan arctan2 "
    "abs absolute fabs sign power float_power floor ceil rint trunc round around deg2rad rad2deg radians degrees "
    "maximum minimum clip mod floor_divide hypot".split()
)
"""Functions that give a number of numbers, an array of arrays."""
_OF_THE_WHOLE = frozenset("prod product sum mean median max min amax amin std var".split())
"""Functions that give one number of all they are given, where no axis is named."""
_DRAWN = {
    "rand": 0, "randn": 0, "random": 0, "random_sample": 0, "standard_normal": 0,
    "exponential": 1, "poisson": 1, "beta": 2, "uniform": 2, "normal": 2, "randint": 2, "gamma": 2, "binomial": 2,
}  # fmt: skip
"""Of `numpy.random`, and after how many arguments the size stands, without which one number is drawn."""


def is_one_number(values: Values, node: ast.Call, dotted: str, frame: Frame) -> bool:
    """Whether a call of a function of numpy's, by its dotted name, gives one number."""
    module, _, name = dotted.rpartition(".")
    if any(isinstance(argument, ast.Starred) for argument in node.args):
        return False
    if module == "numpy.random":
        few = len(node.args) <= _DRAWN.get(name, -1)
        return few and not node.keywords and all(_is_number(values, argument, frame) for argument in node.args)
    if module != "numpy" or not node.args:
        return False
    if name in _OF_NUMBERS:
        return not node.keywords and all(_is_number(values, argument, frame) for argument in node.args)
    if name not in _OF_THE_WHOLE or len(node.args) > 1 or any(keyword.arg != "dtype" for keyword in node.keywords):
        return False
    given = values.of(node.args[0], frame)
    return given.kind in ("plain", "array") or (given.item is not None and given.item.kind == "plain")


def _is_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is plain, and does not look like a shape, which is several numbers."""
    if isinstance(node, ast.Attribute) and node.attr == "shape":
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "size":
        return bool(node.args)
    return values.of(node, frame).kind == "plain"
