"""Reads that only say what a test of the same number has found: the test has waited, and holds when something is odd.

    if norm < 1e-8:
        print("the norm is very small:", norm.item())
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torchperf_lint.facts.files.source import Place
from torchperf_lint.facts.outlines.complaints import only_says
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import names_of
from torchperf_lint.patterns import pattern

_NAMED = pattern(r"^[\w.]+$")
"""What is the same number wherever it is written so: no call, no item of a list."""
_FEW = 8
"""Other statements looked at that a branch runs before one."""
_READS = frozenset({"item", "cpu", "detach", "tolist", "numpy"})
_NUMBERS = frozenset({"int", "float", "bool"})


def tells_what_was_tested(place: Place, read: ast.expr) -> bool:
    """Whether a statement only says something, in a branch whose test compares what a place reads for it."""
    around = place.file.enclosing(place.function)
    statement = around.statement(place.expression)
    if statement is None or not only_says(statement):
        return False
    wanted = chain(_unread(read))
    if not _NAMED.match(wanted):
        return False
    branches = (node for node in around.around(statement) if isinstance(node, ast.If))
    return any(
        statement in branch.body
        and any(chain(_unread(side)) == wanted for side in _compared(branch.test))
        and _is_still_the_same(wanted, branch.body[: branch.body.index(statement)])
        for branch in branches
    )


def _is_still_the_same(wanted: str, before: list[ast.stmt]) -> bool:
    """Whether statements before one only say something, or know nothing of the variable that a number is read of."""
    others = [statement for statement in before if not isinstance(statement, ast.Expr) or not only_says(statement)]
    root = wanted.partition(".")[0]
    return len(others) <= _FEW and not any(root in names_of(statement) for statement in others)


def _compared(test: ast.expr) -> Iterator[ast.expr]:
    """The sides of the comparisons by size that a test makes whenever it holds: of an `or` the first alone."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        first = test.values[0]
        yield from _sides(first)[:2]
    else:
        for part in test.values if isinstance(test, ast.BoolOp) else [test]:
            yield from _sides(part)


def _sides(part: ast.expr) -> list[ast.expr]:
    """What a comparison by size compares; of a longer one, `0 < low < norm`, a false start leaves out the rest."""
    if isinstance(part, ast.Compare) and all(isinstance(op, _ORDERS) for op in part.ops):
        return [part.left, *part.comparators]
    return []


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def _unread(node: ast.expr) -> ast.expr:
    """`norm` of `norm.item()`, `float(norm.detach())`."""
    while isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in _READS and not node.args:
            node = node.func.value
        elif isinstance(node.func, ast.Name) and node.func.id in _NUMBERS and len(node.args) == 1:
            node = node.args[0]
        else:
            break
    return node
