"""Elements that are read where a tensor has its extreme, though the reduction gives both in one go.

i = int(gap.argmin())
if gap[i].item() > tolerance:       # waits again: `gap[i]` is `gap.min()`
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.syntax.chains import chain

_ARGS = frozenset({"argmax", "argmin"})


def is_at_extreme(place: Place) -> bool:
    """Whether a call reads `x[i]` where `i` was read from `x.argmin()` or `x.argmax()` of the same `x`."""
    call = place.expression
    if not isinstance(call, ast.Call):
        return False
    read = call.func.value if isinstance(call.func, ast.Attribute) else next(iter(call.args), None)
    if not isinstance(read, ast.Subscript) or not isinstance(read.slice, ast.Name):
        return False
    body = place.file.project.body(place.file.path)
    if body is None or not isinstance(read.value, ast.Name):
        return False
    index = body.assigned_once(place.function, read.slice.id, body.at(read.slice))
    of = _reduced(index) if index is not None else None
    if of is None or chain(of) != read.value.id:
        return False
    name = read.value.id
    return body.reaching(place.function, name, body.at(read.value)) == body.reaching(place.function, name, body.at(of))


def _reduced(node: ast.expr | None) -> ast.expr | None:
    """The `x` of `int(x.argmin().item())`, where no dimension is given and the place is read on the host."""
    on_host = False
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id == "int" and len(node.args) == 1:
            node, on_host = node.args[0], True
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "item":
            node, on_host = node.func.value, True
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _ARGS:
            if chain(node.func.value) == "torch":
                return node.args[0] if on_host and len(node.args) == 1 and not node.keywords else None
            return node.func.value if on_host and not node.args and not node.keywords else None
        else:
            return None
    return None
