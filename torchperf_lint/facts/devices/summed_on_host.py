"""Sums that stay in host memory: of what begins there as a tensor, and of numbers and tensors of the host alone.

    index = 0
    for i in range(len(lengths)):
        index += lengths[i]              # on the host, where `lengths` is

A sum depends on itself, by way of its loop: where it stays, what it begins with and what is added tell.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.bindings.bindings import Definition
from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.values.value import HOST, Frame, Value

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values


def stays_on_host(values: Values, name: str, d: Definition, frame: Frame, body: Body) -> bool:
    """Whether what an augmented assignment makes a tensor, or keeps one, is on the host."""
    reaching = body.reaching(frame.function, name, d.at) or ()
    begun = [b for b in reaching if b.how != "augmented"]
    made = [values.of(b.value, frame.back(body.at(b.value), b.end)) for b in begun if b.how == "assign" and b.value]
    if not begun or len(made) < len(begun):
        return False
    if all(_is_host_tensor(value) for value in made):
        return True  # it is changed in place: it stays there, whatever is added
    if not all(_is_host_tensor(value) or value.kind == "plain" for value in made):
        return False
    sums = dict.fromkeys((d, *(other for other in reaching if other.how == "augmented")))
    added = [_added(values, one, frame, body) for one in sums]
    return all(value is not None and (_is_host_tensor(value) or value.kind == "plain") for value in added)


def _added(values: Values, d: Definition, frame: Frame, body: Body) -> Value | None:
    """What an augmented assignment adds; its value is the sum, as if it were written out."""
    return values.of(d.value.right, frame.back(d.at, d.end)) if isinstance(d.value, ast.BinOp) else None


def _is_host_tensor(value: Value) -> bool:
    return value.kind == "tensor" and value.device == HOST
