"""Indices that the same function moves to the device: tensors of places, whatever holds them.

    nodes = graph.nodes[cluster].to(self.device)
    rows = labels[graph.nodes[cluster]]
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.syntax.syntax import nodes_of
from torchperf_lint.facts.values.value import Frame


def is_moved_beside(body: Body, node: ast.expr, frame: Frame) -> bool:
    """Whether a function moves to a device what an expression, or the name for it, stands for."""
    if isinstance(node, ast.Name):
        bound = body.reaching(frame.function, node.id, body.at(node)) or ()
        given = [d.value for d in bound if d.how == "assign" and d.value is not None]
        if len(given) != 1 or len(bound) != 1:
            return False
        node = given[0]
    function = body.functions.get(frame.function)
    if function is None or not isinstance(node, ast.Subscript | ast.Attribute):
        return False
    written = ast.unparse(node)
    return any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in api.MOVES
        and bool(call.args or call.func.attr == "cuda")
        and ast.unparse(call.func.value) == written
        for call in nodes_of(function)
    )
