"""Numbers of the host that are put into single elements of a tensor on the device: `wh[0] = width`.

torch makes a tensor without dimensions of the number, in host memory, and writes it in. Into a row or a slice it fills
the number; into a place that has no dimensions itself it copies that tensor, from pageable memory, and waits.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.constants.host_numbers import is_host_number
from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_functions, hot_nodes
from torchperf_lint.facts.values.dimensions import dimensions
from torchperf_lint.facts.values.value import Frame, Value
from torchperf_lint.facts.values.values import Values
from torchperf_lint.patterns import pattern

_STORES = pattern(r"\[[\w ,+-]*\] = ")
"""`x[0] = `, `x[i, j] = `: no slice, no mask."""


class ElementStore(NamedTuple):
    """A number of the host that is copied into one element of a tensor on the device."""

    spot: Spot
    """What is written to: `wh[0]`."""
    base: Value
    kind: str
    """LITERAL, or what else `constancy` calls it; "number" where it may differ at each step."""


def element_stores(file: SourceFile) -> Iterator[ElementStore]:
    """The hot statements that put a number of the host into one element."""
    if not hot_functions(file) or not _STORES.search(file.text):
        return
    for spot in hot_nodes(file, ast.Assign, where=_is_store):
        node = spot.expression
        assert isinstance(node, ast.Assign)
        target = node.targets[0]
        assert isinstance(target, ast.Subscript)
        if spot.hot.kind == "data":
            continue
        places = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
        if any(isinstance(place, ast.Slice | ast.Starred | ast.List | ast.Compare) for place in places):
            continue
        found = _store(file, spot, target, places, node.value)
        if found is not None:
            yield found


def _is_store(node: ast.Assign) -> bool:
    return len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript)


def _store(
    file: SourceFile, spot: Spot, target: ast.Subscript, places: list[ast.expr], value: ast.expr
) -> ElementStore | None:
    values = file.project.values
    known = dimensions(values, target.value, spot.frame)
    if known != len(places) and (known is not None or not _is_tested(file, spot, target)):
        return None
    if not all(_is_one(values, place, spot.frame) for place in places):
        return None
    kind = constancy(values, value, spot.frame)
    if kind is None and not is_host_number(values, value, spot.frame):
        return None
    base = on_device(file, spot, target.value)
    if base is None or base.kind != "tensor":
        return None
    return ElementStore(spot.at(target), base, kind or "number")


def _is_tested(file: SourceFile, spot: Spot, target: ast.Subscript) -> bool:
    """`if taken[i] == 1:` in the same function: what is compared so, and has a truth value, is one element."""
    written = ast.unparse(target)
    for node in file.enclosing(spot.function).of_kinds((ast.If, ast.While)):
        test = node.test if isinstance(node, ast.If | ast.While) else node
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test = test.operand
        if isinstance(test, ast.Compare) and all(isinstance(side, ast.Constant) for side in test.comparators):
            test = test.left
        if isinstance(test, ast.Subscript) and ast.unparse(test) == written:
            return True
    return False


def _is_one(values: Values, place: ast.expr, frame: Frame) -> bool:
    """Whether an index is one number: an array or tensor of several would pick several elements."""
    if isinstance(place, ast.Constant):
        return isinstance(place.value, int) and not isinstance(place.value, bool)
    return is_host_number(values, place, frame)
