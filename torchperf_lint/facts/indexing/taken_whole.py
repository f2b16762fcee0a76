"""What takes all that a mask selects, one beside the other: rows by their indices, and columns of all rows."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import first_part


def takes_by(call: ast.Call, node: ast.AST) -> bool:
    """`torch.index_select(x, 0, rows)`, `x.index_select(0, rows)`, `x.gather(0, rows)`: what `x[rows]` is."""
    if last_part(chain(call.func)) not in ("index_select", "gather"):
        return False
    named = {k.arg: k.value for k in call.keywords}
    index = named.get("index", call.args[-1] if call.args else None)
    dim = named.get("dim", call.args[-2] if len(call.args) > 1 else None)
    given = node.value if isinstance(node, ast.keyword) else node
    return index is given and isinstance(dim, ast.Constant) and dim.value == 0


def keeps_first(index: ast.expr) -> bool:
    """`sel[:, 0]`, `sel[..., None]`: the selected elements stay one beside the other."""
    first = first_part(index)
    whole = isinstance(first, ast.Slice) and first.lower is first.upper is first.step is None
    return whole or (isinstance(first, ast.Constant) and first.value is ...)
