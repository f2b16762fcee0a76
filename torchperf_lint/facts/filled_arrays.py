"""Arrays of one number, which numpy fills on the host: `np.ones((n, 1))`, `np.full(shape, 0.9)`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.chains import last_part
from torchperf_lint.facts.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_FILL = frozenset({"ones", "zeros", "ones_like", "zeros_like"})


def is_filled_array(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is a call by which numpy makes an array of one number, whatever its shape."""
    if not isinstance(node, ast.Call) or not node.args or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    thing = values.thing(node.func, frame)
    if thing is None or thing.kind != "external" or not thing.dotted.startswith("numpy."):
        return False
    name = last_part(thing.dotted)
    if name == "full":
        return len(node.args) > 1 and isinstance(node.args[1], ast.Constant)
    return name in _FILL
