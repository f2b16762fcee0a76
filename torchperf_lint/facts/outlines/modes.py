"""Which branches run only while a module is evaluated: `if not self.training:`, or what training has returned before.

What an evaluation copies to the host is what it is for; in training the same line is a wait in every step. Decided
from one file's syntax, so outlines can hold the answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from torchperf_lint.facts.outlines.guards import exit_kind
from torchperf_lint.patterns import pattern

_TRAINING_FLAG = pattern(r"^(?:training|_?is_train(?:ing)?(?:_(?:loader|step|mode|phase|stage))?)$")
"""What a module calls its mode, `nn.Module.training`, and how functions name a parameter for it."""
_EVALUATION_FLAG = pattern(
    r"^_?is_(?:(?:val|validation|validating|test|testing|eval|evaluation|evaluating)(?:_(?:loader|step|mode|phase|stage))?"
    r"|valid_(?:loader|step|mode|phase|stage))$"
)
"""`is_valid` alone asks whether something holds."""
_LOADERS = pattern(r"^_?(?:(?P<of_evaluation>val|valid|validation|test|eval)|train)_loaders?$")
"""Keys of loaders that are kept to compare with: `if key in self.valid_loaders:`."""
_MODE = pattern(r"(?:^|_)(?:mode|phase|split|stage|status|partition|subset)$", re.IGNORECASE)
"""How a parameter is called that tells in words which it is."""
_KEY = pattern(r"(?:^|_)(?:key|name|loader|id)$")
_EVALUATES = pattern(r"^(?:val|valid|validate|validation|test|testing|eval|evaluate|evaluation)$", re.IGNORECASE)
_TRAINS = pattern(r"^(?:train|training)$", re.IGNORECASE)
_SAME = (ast.Eq, ast.NotEq)
_ONE_OF = (ast.Eq, ast.In)


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
    if isinstance(test, ast.Compare):
        return _by_word(test)
    called = isinstance(test, ast.Call) and _name(test.func) == "is_grad_enabled"
    name = _name(test)
    return bool(_EVALUATION_FLAG.match(name)), called or bool(_TRAINING_FLAG.match(name))


def _by_word(test: ast.Compare) -> tuple[bool, bool]:
    """`split == "val"` holds in evaluation only, `phase == "train"` fails there only."""
    if len(test.ops) != 1:
        return False, False
    word = test.comparators[0]
    named = _LOADERS.match(_name(word)) if not isinstance(word, ast.Constant) else None
    if named is not None and isinstance(test.ops[0], _ONE_OF) and _KEY.search(_name(test.left)):
        return named["of_evaluation"] is not None, named["of_evaluation"] is None
    if not isinstance(word, ast.Constant) or not isinstance(word.value, str):
        return False, False
    if not isinstance(test.ops[0], _SAME) or not _MODE.search(_name(test.left)):
        return False, False
    of_evaluation, of_training = bool(_EVALUATES.match(word.value)), bool(_TRAINS.match(word.value))
    return (of_evaluation, of_training) if isinstance(test.ops[0], ast.Eq) else (of_training, of_evaluation)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def evaluation_follows(statement: ast.stmt) -> bool:
    """Whether what comes after a statement in its block runs in evaluation only: training has left before."""
    if not isinstance(statement, ast.If) or statement.orelse or not _leaves(statement.body):
        return False
    return in_evaluation(statement.test)[1]


def _leaves(statements: Sequence[ast.stmt]) -> bool:
    return exit_kind(statements) in ("return", "raise")
