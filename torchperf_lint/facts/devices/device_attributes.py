"""Devices that a class writes down once and for all: `self.device = "cpu"` in the constructor, and nowhere else.

Who makes an object cannot ask for another, whatever it is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def is_host_attribute(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether `self.device` is set to the host by its class, the ones above and below, and to nothing else."""
    if not isinstance(node, ast.Attribute) or chain(node.value) != "self":
        return False
    own = values.index.class_of(frame.path, frame.function)
    if own is None or node.attr in values.index.attributes_of_others:
        return False
    found = [value for cls in _family(values, own) for value in _set_in(values, cls, node.attr)]
    return bool(found) and all(_is_host(value) for value in found)


def _family(values: Values, own: Thing) -> Iterator[Thing]:
    yield from (cls for cls in values.index.ancestry(own) if cls.kind != "external")
    yield from values.index.below(own)


def _set_in(values: Values, cls: Thing, name: str) -> Iterator[ast.expr]:
    body = values.body(cls.path)
    for method in values.index.record(cls).methods.values() if body is not None else ():
        yield from (value for value, _ in body.self_assigned(method, name)) if body is not None else ()


def _is_host(value: ast.expr) -> bool:
    if isinstance(value, ast.Call) and chain(value.func).endswith("device") and len(value.args) == 1:
        value = value.args[0]
    return isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value.startswith("cpu")
