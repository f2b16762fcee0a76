"""Lengths of tensors that an object keeps: `self.cells, self.genes = self.expression.shape` in its constructor."""

from __future__ import annotations

import ast

from torchperf_lint.facts.constants.held_numbers import holds_a_number
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame


def is_kept_length(file: SourceFile, place: Place, node: ast.expr) -> bool:
    """Whether all that a class ever puts into an attribute of `self` are lengths of tensors."""
    if not isinstance(node, ast.Attribute) or chain(node.value) != "self":
        return False
    values = file.project.values

    def is_length(put: ast.expr, at: Frame) -> bool:
        sized = put.value if isinstance(put, ast.Subscript) else put
        if isinstance(sized, ast.Call):  # `x.size(0)`, and `x.size()[0]`
            sized = sized.func if isinstance(put, ast.Subscript) or sized.args else put
        elif not isinstance(put, ast.Subscript):
            return False
        asked = isinstance(sized, ast.Attribute) and sized.attr in ("shape", "size")
        return asked and isinstance(sized, ast.Attribute) and values.of(sized.value, at).kind == "tensor"

    return holds_a_number(values, node, place.frame, is_length)
