"""Indices that are one number on the device, as the code shows that makes them: a tensor without dimensions.

torch reads such an index on the host, `w[i]` for `i` of `torch.unique(x)`, where one with a dimension, `w[i.view(1)]`,
stays on the device. A list takes no other, and reads it as well.
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.looks import may_be_tensor
from torchperf_lint.facts.files.source import Place, SourceFile
from torchperf_lint.facts.indexing.compared_as_one import is_compared_as_one
from torchperf_lint.facts.indexing.masks import is_mask
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.dimensions import dimensions
from torchperf_lint.facts.values.value import is_mapping


def is_shown_to_be_one(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index of a tensor, or of a list, is a tensor without dimensions."""
    taken = place.expression if isinstance(place.expression, ast.Subscript) else None
    if taken is None or isinstance(index, ast.Constant):
        return False
    if not may_be_tensor(place, index) and not is_compared_as_one(file, place, index):
        return False
    whole = file.value(taken.value, place)
    listed = whole.kind == "sequence" and not is_mapping(whole) and taken.slice is index
    return (whole.kind == "tensor" or listed) and _is_one(file, place, index)


def _is_one(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether an index is one number, and no truth: `x[x.sum() == 0]` picks all or nothing, without a look at it."""
    values, body = file.project.values, file.project.body(file.path)
    called = index
    if isinstance(index, ast.Name) and body is not None:
        called = body.assigned_once(place.function, index.id, place.frame.at) or index
    if file.value(index, place).kind == "plain":
        return False
    if isinstance(called, ast.Call) and last_part(chain(called.func)) in _TRUTHS:
        return False
    if is_mask(values, index, place.frame):
        return False
    many = dimensions(values, index, place.frame)
    return many == 0 or (many is None and is_compared_as_one(file, place, index))


_TRUTHS = frozenset({"any", "all", "bool", "logical_not", "logical_and", "logical_or", "isnan", "isfinite"})


def picks_by_one(file: SourceFile, place: Place, taken: ast.Subscript, index: ast.expr) -> bool:
    """Whether an index takes one row of a tensor on the device by a number that lies there, too."""
    parts = taken.slice.elts if isinstance(taken.slice, ast.Tuple) else [taken.slice]
    alone = any(part is index for part in parts) and file.value(taken.value, place).on_device
    return alone and _is_one(file, place, index) and not _is_told(file, place, index)


_TELL = frozenset({"int", "float", "str", "print"})


def _is_told(file: SourceFile, place: Place, index: ast.expr) -> bool:
    """Whether the function reads the number itself: `f"{worst}"`, `int(worst)`; the host has it then."""
    around = file.enclosing(place.function)
    for use in around.of_kinds((ast.Name,)):
        if not isinstance(index, ast.Name) or not isinstance(use, ast.Name) or use.id != index.id:
            continue
        parent = around.parents.get(use)
        if isinstance(parent, ast.FormattedValue) or (isinstance(parent, ast.Attribute) and parent.attr == "item"):
            return True
        if isinstance(parent, ast.Call) and use in parent.args and chain(parent.func) in _TELL:
            return True
    return False
