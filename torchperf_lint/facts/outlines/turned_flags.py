"""Flags of an object that a step takes down when it finds them up: what they are for runs once, until someone asks.

    loss, stats = self.compute_loss(batch, skip=not self.needs_stats)     # once an epoch `skip` is False
    ...
    if self.needs_stats:
        self.stats = stats
        self.needs_stats = False

Decided from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from torchperf_lint.facts.outlines.once import attribute_asked
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.syntax import blocks_of, nodes_of, statements_in

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
_WITH_TARGETS = (ast.Assign, ast.Delete)
_WITH_A_TARGET = (ast.AnnAssign, ast.AugAssign)
_ASKS = (ast.Attribute, ast.Call)
_Turn = tuple[ast.stmt, ast.expr | None]
"""An assignment of a flag, and the test of the branch that it stands in."""


def is_seldom(test: ast.expr, around: Sequence[ast.stmt], text: str) -> bool:
    """Whether a test, in a function with this body, asks for a flag that the function turns once it has acted on it.

    `text`: the file's, in which it is looked for first.
    """
    asked = test.operand if isinstance(test, ast.UnaryOp) else test
    if not isinstance(asked, _ASKS):
        return False
    if isinstance(asked, ast.Attribute) and not any(f".{asked.attr} = {value}" in text for value in (True, False)):
        return False
    return usual(test, around, test.lineno) is False


def usual(test: ast.expr, around: Sequence[ast.stmt], line: int) -> bool | None:
    """What `self.flag`, or `not self.flag`, is at a line but for once; None where the function does not turn it."""
    holds = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    flag = attribute_asked(test)
    if not flag.startswith("self.") or flag.count(".") > 1:
        return None
    turned = list(_turns(around, flag))
    values = [_value(statement) for statement, _ in turned]
    if not turned or any(type(value) is not bool or value is not values[0] for value in values):
        return None
    if not all(statement.lineno > line and _acts(where, flag, values[0]) for statement, where in turned):
        return None
    return values[0] is holds


def _value(statement: ast.stmt) -> object:
    value = getattr(statement, "value", None)
    return value.value if isinstance(value, ast.Constant) else None


def _acts(where: ast.expr | None, flag: str, value: object) -> bool:
    """Whether an assignment runs come what may, or where the flag is found to be the other way."""
    if where is None:
        return True
    holds = True
    while isinstance(where, ast.UnaryOp) and isinstance(where.op, ast.Not):
        where, holds = where.operand, not holds
    return attribute_asked(where) == flag and value is not holds


def _turns(block: Sequence[ast.stmt], flag: str) -> Iterator[_Turn]:
    """Each assignment of a flag; one below more than a single branch has a test that is none."""
    for statement in block:
        if isinstance(statement, ast.If):
            yield from ((s, statement.test) for s in statement.body if _sets(s, flag))
            below: list[ast.stmt] = [*(s for s in statement.body if not _sets(s, flag)), *statement.orelse]
        elif _sets(statement, flag):
            yield statement, None
            continue
        else:
            below = [child for child in blocks_of(statement) if isinstance(child, ast.stmt)]
        never = ast.Constant(False)
        yield from ((s, never) for inner in below for s in _statements(inner) if _sets(s, flag))


def _statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    if not isinstance(statement, _DEFINITIONS):
        yield from (node for node in statements_in(statement) if isinstance(node, ast.stmt))


def _sets(statement: ast.stmt, flag: str) -> bool:
    targets = statement.targets if isinstance(statement, _WITH_TARGETS) else []
    if isinstance(statement, _WITH_A_TARGET):
        targets = [statement.target]
    parts = (node for target in targets for node in nodes_of(target) if isinstance(node, ast.Attribute))
    return any(chain(part) == flag for part in parts)
