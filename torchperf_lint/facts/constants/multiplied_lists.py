"""Lists of one thing, as often as something says: `[t] * n`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.tested_numbers import tested_number
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values
from torchperf_lint.model import Confidence
from torchperf_lint.patterns import pattern

_COUNT = pattern(r"^(?:num|n)_|_(?:num|len|length|size|count|id|idx)$|^(?:n|count|size|length)$")
"""Names of one number, a count or an id."""


def repeated(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """`[t] * n`, `[[t]] * n`, and `[t] * n * m`: what is repeated, and how often."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    listed, times = (node.left, node.right) if _lists(node.left) else (node.right, node.left)
    if isinstance(listed, ast.BinOp):
        return repeated(listed)
    while isinstance(listed, ast.List) and len(listed.elts) == 1 and isinstance(listed.elts[0], ast.List):
        listed = listed.elts[0]
    return (listed.elts[0], times) if isinstance(listed, ast.List) and len(listed.elts) == 1 else None


def _lists(node: ast.expr) -> bool:
    return isinstance(node, ast.List) or (isinstance(node, ast.BinOp) and repeated(node) is not None)


def repeats_one_number(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n`: one number, as often as something says."""
    parts = repeated(node)
    if parts is None or not _is_one(values, parts[0], frame):
        return False
    return values.of(parts[1], frame).kind in ("plain", "unknown")  # a list is only multiplied by a number


def _is_one(values: Values, node: ast.expr, frame: Frame) -> bool:
    """A number, or what an object or a table holds under a name: `tokenizer.sot`, `vocabulary["<start>"]`."""
    kind = values.of(node, frame).kind
    named = (
        (isinstance(node, ast.Name) and bool(_COUNT.search(node.id)))
        or isinstance(node, ast.Attribute)
        or (
            isinstance(node, ast.Subscript)
            and isinstance(node.slice, ast.Constant)
            and isinstance(node.slice.value, str)
        )
    )
    if kind == "plain" or (kind == "unknown" and named):
        return True
    return isinstance(node, ast.Name) and tested_number(values, node.id, frame)


def repeats_one_tensor(values: Values, node: ast.expr, frame: Frame) -> bool:
    """`[t] * n` of a tensor on the device: each element of the list is read from there by itself."""
    parts = repeated(node)
    if parts is None or isinstance(parts[0], ast.Starred):
        return False
    element = values.of(parts[0], frame)
    return element.kind == "tensor" and element.on_device and element.confidence is not Confidence.POSSIBLE
