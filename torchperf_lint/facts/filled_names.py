"""Names that a loop fills in its first turn: `if bank is None: bank = torch.zeros(n, x.size(1))`.

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.chains import chain
from torchperf_lint.facts.syntax import children_of, nodes_of


def fills_a_name(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether a branch of a function's body fills a plain name that its test finds to be None, in one turn of a loop.

    A loop keeps its names from turn to turn, unless it sets them back itself; a function's call does not.
    """
    if _is_looked_up_after(node, body) or _fills_a_table(node, body):
        return True
    missing = _missing_names(node.test) & {name for statement in node.body for name in _filled_by(statement)}
    if not missing:
        return False
    loop = _innermost_loop(body, node)
    return loop is not None and bool(missing - set(_emptied_in(loop)))


def _is_looked_up_after(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether what a test misses in a table of the object is taken from there behind: so the branch puts it there.

    `cache = self.compiled; if key not in cache: self.compile(x, key, cache)`, and then `cache[key]`.
    """
    test = node.test
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], ast.NotIn) or len(test.ops) > 1:
        return False
    key, table = test.left, chain(test.comparators[0])
    nodes = [n for statement in body for n in nodes_of(statement)]
    held = any(isinstance(n, ast.Assign) and chain(n.targets[0]) == table and _of_self(n.value) for n in nodes)
    if not isinstance(key, ast.Name) or not (held or table.startswith("self.")):
        return False
    behind = (n for n in nodes if isinstance(n, ast.Subscript) and n.lineno > (node.end_lineno or 0))
    return any(
        isinstance(n.ctx, ast.Load)
        and chain(n.value) == table
        and isinstance(n.slice, ast.Name)
        and n.slice.id == key.id
        for n in behind
    )


def _fills_a_table(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """`found = table.get(key)`, `if found is None: ...; table[key] = found`: what is made is kept for the next call."""
    missing = _missing_names(node.test)
    if not missing:
        return False
    before = [s for s in body if s.lineno < node.lineno and isinstance(s, ast.Assign) and len(s.targets) == 1]
    looked_up = (s.value for s in before if chain(s.targets[0]) in missing and isinstance(s.value, ast.Call))
    tables = {chain(call.func.value) for call in looked_up if isinstance(call.func, ast.Attribute) and _gets(call.func)}
    tables -= {chain(s.targets[0]) for s in before}  # a table of this call's own
    nodes = (n for statement in node.body for n in nodes_of(statement))
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store) and chain(n.value) in tables for n in nodes
    )


def _gets(method: ast.Attribute) -> bool:
    return method.attr == "get"


def _of_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Attribute | ast.Subscript) and chain(value).startswith("self.")


def _missing_names(test: ast.expr) -> set[str]:
    """`bank is None`, also as one of several conditions that must all hold."""
    parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
    return {part.left.id for part in parts if isinstance(part, ast.Compare) and _is_none(part)}  # type: ignore[attr-defined]


def _is_none(test: ast.Compare) -> bool:
    right = test.comparators[0]
    alone = len(test.ops) == 1 and isinstance(test.ops[0], ast.Is)
    return alone and isinstance(test.left, ast.Name) and isinstance(right, ast.Constant) and right.value is None


def _filled_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign) and not _empty(statement.value):
        yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _emptied_in(loop: ast.AST) -> Iterator[str]:
    for node in ast.walk(loop):
        if (isinstance(node, ast.Assign) and _empty(node.value)) or isinstance(node, ast.Delete):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _empty(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _innermost_loop(body: Sequence[ast.stmt], node: ast.If) -> ast.AST | None:
    """The loop of a function's own that holds a branch; None where none does."""
    around: list[tuple[ast.AST, ast.AST | None]] = [(statement, None) for statement in body]
    while around:
        part, loop = around.pop()
        if part is node:
            return loop
        inside = part if isinstance(part, ast.For | ast.AsyncFor | ast.While) else loop
        around += [(child, inside) for child in children_of(part)]
    return None
