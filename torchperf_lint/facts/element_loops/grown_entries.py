"""Entries of a list that grow side by side: an inner loop goes through the list, once for each turn of an outer one.

for sample in samples:
    new = counts(sample)
    for i in range(len(kept)):
        kept[i] = torch.cat([kept[i], new[i]])
"""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import nodes_of

_ASKS = frozenset({"len", "range", "enumerate", "isinstance"})


def entries_of(target: ast.expr) -> str | None:
    """The name of the list, of a target that is an entry of one by a counter, `kept[i]`; else None."""
    by_name = isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Name)
    named = isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and by_name
    return target.value.id if named else None  # type: ignore[attr-defined]


def goes_through_entries(target: ast.expr, loop: ast.AST) -> bool:
    """Whether each turn of a loop has another entry: `for i in range(len(kept))`, around `kept[i] = ...`."""
    held = entries_of(target)
    if held is None or not isinstance(loop, ast.For):
        return False
    ways = {f"range(len({held}))": loop.target}
    if isinstance(loop.target, ast.Tuple) and loop.target.elts:
        ways[f"enumerate({held})"] = loop.target.elts[0]
    counter = ways.get(ast.unparse(loop.iter))
    return counter is not None and ast.unparse(target) == f"{held}[{ast.unparse(counter)}]"


def reads_entries(target: ast.expr, loop: ast.AST) -> bool:
    """Whether a loop reads the list of which an entry grows, but to ask how long it is, whether it is there, or to
    add to the entry: a model is given all of it then.
    """
    held = entries_of(target)
    if held is None:
        return False
    asked: set[int] = set()
    for node in nodes_of(loop):
        if isinstance(node, ast.Call) and chain(node.func) in _ASKS:
            asked |= {id(argument) for argument in node.args}
        elif isinstance(node, ast.Compare) and all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            asked.add(id(node.left))
        elif isinstance(node, ast.Subscript) and ast.unparse(node) == ast.unparse(target):
            asked.add(id(node.value))
    return any(
        isinstance(node, ast.Name) and node.id == held and isinstance(node.ctx, ast.Load) and id(node) not in asked
        for node in nodes_of(loop)
    )
