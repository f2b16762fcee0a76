"""What else of one subscript lies in host memory: making one of its indices on the device leaves the others' copies.

x[torch.arange(n).unsqueeze(-1), order]            # of `order = torch.argsort(torch.rand(n, k), dim=-1)`
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.indexing.host_indices import HostIndex
from torchperf_lint.facts.syntax.conditions import short


def also_copied(index: HostIndex, found: Sequence[HostIndex]) -> str:
    """The other indices of a subscript that are copied with one, as the end of an advice; empty where there are none.

    :param found: all of the file
    """
    own, others = ast.unparse(index.spot.expression), list[str]()
    for other in found:
        within = other is not index and other.spot.function == index.spot.function
        if within and not isinstance(other.spot.expression, ast.List) and _subscript(index) is _subscript(other):
            others.append(ast.unparse(other.spot.expression))
    named = [f"`{short(other)}`" for other in dict.fromkeys(others) if other != own]
    copied = "that" if len(named) == 1 else "them"
    return f"; {' and '.join(named)} too: the subscript copies {copied} as well" if named else ""


def _subscript(index: HostIndex) -> ast.AST | None:
    """The subscript that an index stands in."""
    parents = index.spot.file.enclosing(index.spot.function).parents
    node = parents.get(index.spot.expression)
    while node is not None and not isinstance(node, ast.Subscript):
        node = parents.get(node)
    return node
