"""Types of tensors as text, which older code hands around: `grid.type(x.type())` moves to where `x` is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.call_graph.passed import argument_for
from torchperf_lint.facts.values.value import HOST, Frame

if TYPE_CHECKING:
    from torchperf_lint.facts.values.values import Values

_MAX_CALLERS = 6
_MAX_HOPS = 3


def type_of_tensor(values: Values, node: ast.expr, frame: Frame, hops: int = 0) -> str | None:
    """The tensor, as written here, whose type and place `x.type()` names; also a parameter that is given one."""
    if isinstance(node, ast.Call):
        asked = isinstance(node.func, ast.Attribute) and node.func.attr == "type" and not node.args
        if not asked or node.keywords or not isinstance(node.func, ast.Attribute):
            return None
        value = values.of(node.func.value, frame)
        there = value.kind in ("tensor", "unknown") and value.device != HOST
        return ast.unparse(node.func.value) if there else None
    if not isinstance(node, ast.Name) or hops >= _MAX_HOPS:
        return None
    body = values.body(frame.path)
    reaching = body.reaching(frame.function, node.id, frame.at) if body is not None else None
    if body is not None and reaching:
        made = reaching[0].value if len(reaching) == 1 and reaching[0].how == "assign" else None
        at = frame._replace(at=body.at(made)) if made is not None else frame
        return type_of_tensor(values, made, at, hops + 1) if made is not None else None
    return "x" if _all_give_one(values, node.id, frame, hops) else None


def _all_give_one(values: Values, name: str, frame: Frame, hops: int) -> bool:
    """Whether every caller gives a parameter the type of a tensor."""
    key = FunctionKey(frame.path, frame.function)
    record = values.index.function(key)
    names = [parameter.name for parameter in record.parameters]
    callers = values.hotness.callers.get(key, ()) if name in names else ()
    if not 0 < len(callers) <= _MAX_CALLERS:
        return False
    for path, call in callers:
        there = values.body(path)
        node = there.node_of(call) if there is not None else None
        argument = argument_for(node, record, name) if node is not None else None
        at = Frame(path, call.function, (call.line, call.column))
        if argument is None or type_of_tensor(values, argument, at, hops + 1) is None:
            return False
    return True
