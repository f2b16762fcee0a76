"""Which branches run only while a module is evaluated: `if not self.training:`, or what training has returned before.

What an evaluation copies to the host is what it is for; in training the same line is a wait in every step. Decided
from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from torchperf_lint.facts.guards import exit_kind

_FLAGS = frozenset({"training", "is_training", "is_train"})
"""What a module calls its mode: `nn.Module.training`, and how functions name a parameter for it."""


def in_evaluation(test: ast.expr) -> tuple[bool, bool]:
    """Whether the branch that a test opens runs in evaluation only, and whether the other one does."""
    if isinstance(test, ast.BoolOp):
        parts = [in_evaluation(value) for value in test.values]
        together = isinstance(test.op, ast.And)
        # `not training and other` holds in evaluation only; `training or other` fails in evaluation only.
        return together and any(body for body, _ in parts), not together and any(orelse for _, orelse in parts)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        body, orelse = in_evaluation(test.operand)
        return orelse, body
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return False, name in _FLAGS


def evaluation_follows(statement: ast.stmt) -> bool:
    """Whether what comes after a statement in its block runs in evaluation only: training has left before."""
    if not isinstance(statement, ast.If) or statement.orelse or not _leaves(statement.body):
        return False
    return in_evaluation(statement.test)[1]


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return exit_kind(statements) in ("return", "raise")
