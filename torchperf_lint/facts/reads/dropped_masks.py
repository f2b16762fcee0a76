"""Tests whether a padding mask has any element set, only to leave it out: `if not mask.any(): mask = None`.

Or to make it at all: `mask = None`, and then `if ids.eq(pad).any(): mask = ids.eq(pad)`.

Whoever padded the batch knew that on the host; what takes a mask gets the same of an empty one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from torchperf_lint.facts.outlines.masking import mask_asked
from torchperf_lint.facts.syntax.chains import chain
from torchperf_lint.facts.syntax.literals import is_none


def drops_an_empty_mask(branch: ast.If | ast.IfExp, statement: ast.stmt | None) -> bool:
    """Whether all that a test decides is that the mask it asks for an element becomes None.

    :param statement: what a conditional expression is the value of, `mask = mask if mask.any() else None`
    """
    asked = mask_asked(branch.test)
    if not asked or asked.startswith("~"):
        return False
    if isinstance(branch, ast.IfExp):
        kept, dropped = (branch.orelse, branch.body) if _finds_none_set(branch.test) else (branch.body, branch.orelse)
        bound = isinstance(statement, ast.Assign) and statement.value is branch
        return bound and is_none(dropped) and chain(kept) == asked
    only = branch.body[0] if len(branch.body) == 1 and not branch.orelse else None
    if not _finds_none_set(branch.test) or not isinstance(only, ast.Assign) or not is_none(only.value):
        return False
    return [chain(target) for target in only.targets] == [asked]


def makes_a_mask_of_some(branch: ast.If, bound: Callable[[ast.Name], ast.expr]) -> bool:
    """Whether all that a test decides is that a name which is None becomes the mask it has asked for an element."""
    asked = mask_asked(branch.test)
    only = branch.body[0] if len(branch.body) == 1 and not branch.orelse else None
    if not asked or asked.startswith("~") or _finds_none_set(branch.test) or not isinstance(only, ast.Assign):
        return False
    name = only.targets[0] if len(only.targets) == 1 else None
    return isinstance(name, ast.Name) and ast.unparse(only.value) == asked and is_none(bound(name))


def _finds_none_set(test: ast.expr) -> bool:
    """`not m.any()`, `m.sum() == 0`; no `m.any()`."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.Eq)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
