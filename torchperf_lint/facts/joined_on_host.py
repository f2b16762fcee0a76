"""Batches that are put together on the host: what joins pinned tensors lies in pageable memory again."""

from __future__ import annotations

import ast

from torchperf_lint.facts.arguments import keyword
from torchperf_lint.facts.value import HOST, Frame
from torchperf_lint.facts.values import Values

JOINS = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack"})


def joined_on_host(values: Values, node: ast.expr, frame: Frame) -> ast.Call | None:
    """The call of torch's that joins parts of a batch on the host, which an expression is or a name is bound to.

    `torch.cat([views[0], views[1]])` of what a loader yields; None where a part may lie anywhere else.
    """
    body = values.body(frame.path)
    if isinstance(node, ast.Name) and body is not None:
        made = body.assigned_once(frame.function, node.id, frame.at)
        if made is None:
            return None
        node, frame = made, frame._replace(at=body.at(made))
    if not isinstance(node, ast.Call) or not node.args or keyword(node, "out") is not None:
        return None
    thing = values.thing(node.func, frame)
    dotted = thing.dotted if thing is not None and thing.kind == "external" else ""
    if dotted.removeprefix("torch.") not in JOINS or not isinstance(node.args[0], ast.List | ast.Tuple):
        return None
    parts = [values.of(part, frame) for part in node.args[0].elts]
    of_a_loader = all(part.kind == "batch" and part.device == HOST and part.origins for part in parts)
    return node if parts and of_a_loader else None
