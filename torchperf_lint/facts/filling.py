"""Containers that start empty: what they hold is what is put into them later."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.index import Thing
from torchperf_lint.facts.value import UNKNOWN, Frame, Value, join, sequence
from torchperf_lint.model import Confidence

if TYPE_CHECKING:
    from torchperf_lint.facts.values import Values

_EMPTY = frozenset({"dict", "list", "OrderedDict", "defaultdict", "deque"})
_STORES = 8
"""How many of the values put into a container are looked at."""


def is_empty_container(value: Value, node: ast.expr) -> bool:
    """Whether an expression of this value makes a container with nothing in it."""
    if isinstance(node, ast.List | ast.Dict):
        return not (node.elts if isinstance(node, ast.List) else node.values)
    callee = chain(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    item = value.item if value.kind == "sequence" else None
    if item is not None and item.kind not in ("unknown", "nothing") and item.confidence is not Confidence.POSSIBLE:
        return False  # `list(parts)` holds those
    return callee in _EMPTY and value.kind in ("sequence", "unknown", "plain", "object")


def filled_attribute(values: Values, cls: Thing, name: str, frame: Frame) -> Value:
    """What the methods of a class put into its attribute: `self.losses[k] = loss`, `self.losses.append(loss)`."""
    body = values.body(cls.path)
    found: list[Value] = []
    for function in values.index.record(cls).methods.values() if body is not None else ():
        for node in body.stored_items(function, f"self.{name}")[:_STORES]:  # type: ignore[union-attr]
            found.append(values.of(node, frame.hop(cls.path, function, body.at(node))))  # type: ignore[union-attr]
    return sequence(join(found[:_STORES]) if found else UNKNOWN)
