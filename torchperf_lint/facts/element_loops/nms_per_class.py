"""Overlapping boxes that are sorted out for one class after the other: `for c in range(1, num_classes): nms(...)`.

Each turn selects by a mask and runs its own suppression, both of which wait for the device. Boxes of all classes go
through one run where those of different classes never overlap, which is what `batched_nms` of torchvision sees to.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from torchperf_lint.facts.copies.on_device import on_device
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import Spot, hot_nodes, spot_at
from torchperf_lint.facts.syntax.arguments import arguments
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import Value
from torchperf_lint.patterns import pattern

_CLASSES = pattern(r"^_?(?:num|n)_?(?:classes|class|cls|categories)$|^nclass(?:es)?$", re.IGNORECASE)
_SUPPRESSES = pattern(r"^(?!.*(?:soft|batched|multi_?class|fast|matrix))(?:\w+_)?nms(?:_(?:gpu|cuda|func|normal\w*))?$")
_HOT = frozenset({"forward", "eval", "step", "rollout"})


class PerClass(NamedTuple):
    """A loop over classes."""

    spot: Spot
    call: ast.Call
    """The suppression."""
    boxes: ast.expr
    value: Value


def nms_per_class(file: SourceFile) -> Iterator[PerClass]:
    """The hot loops over classes whose turns suppress overlapping boxes that are on the device."""
    for spot in hot_nodes(file, ast.For):
        loop = spot.expression
        assert isinstance(loop, ast.For)
        if spot.hot.kind in _HOT and _over_classes(loop.iter):
            for node in ast.walk(loop):
                if isinstance(node, ast.Call) and _SUPPRESSES.search(last_part(chain(node.func))):
                    inside = spot_at(file, node, spot.function)
                    held = _on_device(file, inside, node) if inside is not None else None
                    if held is not None:
                        yield PerClass(spot, node, *held)
                    break


def _over_classes(iterated: ast.expr) -> bool:
    """`range(1, self.num_classes)`, `range(n_class - 1)`."""
    if not isinstance(iterated, ast.Call) or last_part(chain(iterated.func)) != "range" or not iterated.args:
        return False
    bound = iterated.args[0] if len(iterated.args) == 1 else iterated.args[1]
    bound = bound.left if isinstance(bound, ast.BinOp) and isinstance(bound.right, ast.Constant) else bound
    return bool(_CLASSES.search(last_part(chain(bound))))


def _on_device(file: SourceFile, spot: Spot, call: ast.Call) -> tuple[ast.expr, Value] | None:
    for argument in arguments(call):
        value = on_device(file, spot, argument)
        if value is not None and value.kind == "tensor":
            return argument, value
    return None
