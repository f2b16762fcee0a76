"""Indices of one place that are counted on from a number of the host: `x[:, [size + step - 1]]`.

Whatever is added to a number of the host and is no tensor is a number as well: a list has nothing to add one to.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

_DEPTH = 4


def is_counted_place(values: Values, node: ast.expr, frame: Frame, depth: int = _DEPTH) -> bool:
    """Whether an expression, or what a name is bound to, is a number of the host that others are added to."""
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None and depth:
        bound = body.assigned_once(frame.function, node.id, frame.at)
        return bound is not None and is_counted_place(values, bound, frame.back(body.at(bound)), depth - 1)
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add | ast.Sub):
        return False
    sides = (node.left, node.right)
    if any(values.of(side, frame).kind not in ("plain", "unknown") for side in sides):
        return False
    return any(_counts(values, side, frame, depth) for side in sides)


def _counts(values: Values, node: ast.expr, frame: Frame, depth: int) -> bool:
    """Whether a side of a sum is a number; a literal tells nothing, as arrays have one added as often."""
    if isinstance(node, ast.Constant):
        return False
    return is_host_number(values, node, frame) or is_counted_place(values, node, frame, depth)
