"""Tensors that were looked up by an index that the host has, in a table of which nothing is known.

    var = alphas[t.cpu()]
    low = low.to(var.device)

Code brings an index to the host because the table is there: so is what was looked up, and `low` is not copied.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for, call_at
from torchperf_lint.facts.values.value import Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_CALLERS = 4


def is_looked_up_on_host(values: Values, node: ast.expr, frame: Frame) -> bool:
    """Whether an expression is the device of a name that such a tensor is bound to: `var.device`."""
    body = values.body(frame.path)
    if body is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    found = [
        d.value
        for d in body.definitions(frame.function).get(node.value.id, ())
        if d.how == "assign" and isinstance(d.value, ast.Subscript) and d.at < frame.at
    ]
    return any(_by_host(values, one, frame._replace(at=body.at(one))) for one in found)


def _by_host(values: Values, looked_up: ast.Subscript, frame: Frame) -> bool:
    """`table[t.cpu()]`, or `table[t]` where every caller gives `t.cpu()`, of a table that is no known tensor."""
    if values.of(looked_up.value, frame).kind != "unknown":
        return False
    index = looked_up.slice
    return _brought(index) or (isinstance(index, ast.Name) and _given_brought(values, index.id, frame))


def _given_brought(values: Values, name: str, frame: Frame) -> bool:
    """Whether a parameter is what each caller brings to the host for it."""
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    callers = values.hotness.callers.get(key, ())
    if not any(parameter.name == name for parameter in record.parameters) or not 0 < len(callers) <= _CALLERS:
        return False
    calls = [call_at(values, site) for site in callers]
    given = [argument_for(call, record, name) if call is not None else None for call in calls]
    return all(one is not None and _brought(one) for one in given)


def _brought(node: ast.expr) -> bool:
    """`t.cpu()`, `t.long().cpu()`, `t.cpu().long()`: not what was made on the host, which indexes anything."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "cpu":
            return True
        node = node.func.value
    return False
