"""Names that a loop fills in its first turn: `if bank is None: bank = torch.zeros(n, x.size(1))`.

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.syntax.syntax import blocks_of, statements_in

_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def fills_a_name(node: ast.If, body: Sequence[ast.stmt]) -> bool:
    """Whether a branch of a function's body fills a plain name that its test finds to be None, in one turn of a loop.

    A loop keeps its names from turn to turn, unless it sets them back itself; a function's call does not.
    """
    missing = missing_names(node.test)
    if missing:
        missing &= _filled_in(node.body)
    if not missing:
        return False
    loop = _innermost_loop(body, node)
    return loop is not None and bool(missing - set(_emptied_in(loop)))


def missing_names(test: ast.expr) -> set[str]:
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
    elif isinstance(statement, ast.If):  # whichever way it goes
        yield from _filled_in(statement.body) & _filled_in(statement.orelse)
    elif isinstance(statement, ast.With):
        yield from _filled_in(statement.body)


def _filled_in(block: Sequence[ast.stmt]) -> set[str]:
    return {name for statement in block for name in _filled_by(statement)}


def _emptied_in(loop: ast.AST) -> Iterator[str]:
    for node in statements_in(loop):
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
        inside = part if isinstance(part, _LOOPS) else loop
        around += [(child, inside) for child in blocks_of(part)]
    return None
