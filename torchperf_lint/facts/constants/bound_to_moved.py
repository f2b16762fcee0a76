"""Names that are bound to what tensors alone give: `sigma = sigma.to(torch.float32).reshape(-1, 1)`."""

from __future__ import annotations

import ast

from torchperf_lint.facts.bindings.bodies import Body
from torchperf_lint.facts.syntax import torch_api as api
from torchperf_lint.facts.values.value import Frame


def bound_to_moved(body: Body, node: ast.expr, frame: Frame) -> bool:
    """Whether a name has been moved or converted on every way to a place: no number, list or array can be asked."""
    if not isinstance(node, ast.Name):
        return False
    reaching = body.reaching(frame.function, node.id, frame.at) or ()
    return bool(reaching) and all(d.how == "assign" and _is_moved(d.value) for d in reaching)


def _is_moved(node: ast.expr | None) -> bool:
    """Whether a chain of methods moves or converts, and those behind that keep a tensor: no `.tolist()`."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in api.MOVES and (node.args or node.keywords or node.func.attr == "cuda"):
            return True
        node = node.func.value if node.func.attr in api.DERIVING else None
    return False
