"""What one turn of a loop hands to the next: a recursion, which no operation on the whole does at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.bindings.effects import statements
from torchperf_lint.facts.syntax.chains import chain, last_part
from torchperf_lint.facts.syntax.syntax import names_of

_GATHER = frozenset({"maximum", "minimum", "cat", "max", "min", "add"})
"""Functions that fold a tensor into what was there before, in any order."""


def carried(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that the statements read before they set them; what is only summed up is no recursion."""
    known: set[str] = set()
    read: set[str] = set()
    summed: set[str] = set()
    for statement in statements(body):
        loads, stores = _names(statement, ast.Load), _names(statement, ast.Store)
        if isinstance(statement, ast.For):
            known |= stores
        elif isinstance(statement, ast.AugAssign) or _is_sum(statement):
            summed |= stores
            loads -= stores
            stores = set()
        read |= loads - known
        yield from sorted((read & stores) - known)
        known |= stores
    yield from sorted(read & summed)


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> set[str]:
    """The names in one statement, its blocks left out; those that comprehensions bind are their own."""
    stack: list[ast.AST] = [statement]
    found: set[str] = set()
    bound: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, context):
            found.add(node.id)
        elif isinstance(node, ast.comprehension):
            bound |= names_of(node.target)
        stack += [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.stmt | ast.ExceptHandler)]
    return found - bound


def _is_sum(statement: ast.stmt) -> bool:
    """`total = total + x - y`, `best = torch.maximum(best, x)`."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    written, value = chain(statement.targets[0]), statement.value
    if isinstance(value, ast.BinOp):
        while isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Sub):
            if chain(value.right) == written:
                return True
            value = value.left
        return chain(value) == written
    if isinstance(value, ast.Call) and last_part(chain(value.func)) in _GATHER:
        return any(written == chain(n) for n in ast.walk(value) if isinstance(n, ast.Name))
    return False
