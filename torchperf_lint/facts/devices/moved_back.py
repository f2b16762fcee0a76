"""Functions that hand back on an accelerator what they are given: `x = x.cuda()`, then `return x`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.devices.devices import device_of
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.arguments import moved_to
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.bindings.bindings import Definition
    from torchperf_lint.facts.values.values import Values


def moved_back_to(values: Values, key: FunctionKey, frame: Frame) -> str | None:
    """Where a function moves the name that it returns: DEVICE, or ANYWHERE where it does so in some cases only.

    None for a function that moves nothing, and for one that also returns something else.
    """
    body = values.body(key.path)
    results = body.returns(key.index) if body is not None else []
    if body is None or len(results) != 1:
        return None
    name = _named(results[0])
    if name is None:
        return None
    bound = body.reaching(key.index, name.id, body.at(results[0])) or []
    moved = [d for d in bound if _moves(values, d, name.id, frame.hop(key.path, key.index, d.at))]
    if not moved:
        return None
    return DEVICE if len(moved) == len(bound) and not any(d.block for d in moved) else ANYWHERE


def _named(result: ast.expr) -> ast.Name | None:
    """`x` of `return x` and `return Variable(x)`."""
    if isinstance(result, ast.Call) and last_part(chain(result.func)) == api.VARIABLE and result.args:
        result = result.args[0]
    return result if isinstance(result, ast.Name) else None


def _moves(values: Values, bound: Definition, name: str, frame: Frame) -> bool:
    """`x = x.cuda(non_blocking=True)`, `x = x.to(device)`."""
    call = bound.value
    if bound.how != "assign" or not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    if chain(call.func.value) != name:
        return False
    if call.func.attr == "cuda":
        return True
    target = moved_to(call)
    return call.func.attr == "to" and target is not None and device_of(values, target, frame) == DEVICE
