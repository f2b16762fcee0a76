"""Lists of one thing, as often as something says: `[t] * n`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.value import Frame
from torchperf_lint.facts.values import Values
from torchperf_lint.model import Confidence


def repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`[t] * n`: what is repeated, and how often."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    listed, times = (node.left, node.right) if isinstance(node.left, ast.List) else (node.right, node.left)
    return (listed.elts[0], times) if isinstance(listed, ast.List) and len(listed.elts) == 1 else None


def repeats_one_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n`: one number, as often as something says."""
    parts = repeated(node)
    if parts is None or values.of(parts[0], frame).kind != "plain":
        return False
    return values.of(parts[1], frame).kind in ("plain", "unknown")  # a list is only multiplied by a number


def repeats_one_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n` of a tensor on the device: each element of the list is read from there by itself."""
    parts = repeated(node)
    if parts is None or isinstance(parts[0], ast.Starred):
        return False
    element = values.of(parts[0], frame)
    return element.kind == "tensor" and element.on_device and element.confidence is not Confidence.POSSIBLE
