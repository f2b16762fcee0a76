"""Tensors without elements, which begin what a loop makes longer."""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.literals import is_literal

_SIZED = frozenset({"empty", "zeros", "ones", "new_empty", "new_zeros", "new_ones"})
_FROM_DATA = frozenset({"tensor", "Tensor", "FloatTensor", "LongTensor", "new_tensor", "as_tensor"})
_SAME = frozenset({"to", "cuda", "cpu", "type", "type_as", "float", "long", "half", "double", "requires_grad_"})


def begins_empty(file: SourceFile, function: int, name: str, loop: ast.For | ast.AsyncFor) -> bool:
    """Whether a name holds a tensor without elements when a loop begins."""
    body = file.project.body(file.path)
    if body is None:
        return False
    before = [d for d in body.reaching(function, name, body.at(loop)) or () if d.end <= body.at(loop)]
    return bool(before) and all(d.how == "assign" and d.value is not None and is_empty(d.value) for d in before)


def is_empty(node: ast.expr) -> bool:
    """`torch.Tensor()`, `torch.tensor([])`, `torch.empty(0, n)`, also moved and converted."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME:
        node = node.func.value
    if not isinstance(node, ast.Call):
        return False
    name = last_part(chain(node.func))
    if name in _FROM_DATA:
        data = node.args[0] if node.args else None
        given = isinstance(data, ast.List | ast.Tuple) and not data.elts
        return given or (data is None and name.endswith("Tensor")) or (name.endswith("Tensor") and _has_zero(node.args))
    return name in _SIZED and _has_zero(node.args)


def _has_zero(sizes: list[ast.expr]) -> bool:
    """Whether one of the sizes is a plain 0, given one by one or in a tuple."""
    parts = sizes[0].elts if sizes and isinstance(sizes[0], ast.Tuple | ast.List) else sizes
    return any(is_literal(part, 0) for part in parts)
