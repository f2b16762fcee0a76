"""Branches of a state machine that few turns of its loop take: validation, saving, the end."""

from __future__ import annotations

import ast

from torchperf_lint.facts.syntax.conditions import name_of
from torchperf_lint.patterns import pattern

_STATE = pattern(r"(?:^|_)(?:state|status|stage|phase)$")
_RARE = pattern(
    r"(?:^|_)(?:(?:pre|post)_)?(?:VALIDAT\w*|EVAL\w*|END|STOP\w*|FINISH\w*|DONE|SAVE|SAVING|CHECKPOINT\w*)(?:_|$)"
)


def is_rare_state(test: ast.expr) -> bool:
    """`self._state == State.PRE_VALIDATION`: most turns of a training loop are in another state."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq | ast.Is):
        return False
    return _is_rare(test.left, test.comparators[0])


def is_rare_case(subject: ast.expr, case: ast.match_case) -> bool:
    """`case State.PRE_VALIDATION:` of `match self._state:`; of several states each must be rare."""
    either = case.pattern.patterns if isinstance(case.pattern, ast.MatchOr) else [case.pattern]
    return all(isinstance(one, ast.MatchValue) and _is_rare(subject, one.value) for one in either)


def _is_rare(subject: ast.expr, value: ast.expr) -> bool:
    named = isinstance(value, ast.Attribute) and _RARE.search(value.attr)
    return bool(named) and bool(_STATE.search(name_of(subject)))
