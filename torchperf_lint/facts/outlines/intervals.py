"""Tests whose names are those of intervals, and which do not say which turn of a loop it is."""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.syntax.conditions import name_of
from torchperf_lint.facts.syntax.literals import is_literal
from torchperf_lint.patterns import pattern

_FREQUENCIES = pattern(
    r"(?:^|_)(?:smooth|use|with|apply|low|high|mid|learn)_freqs?$"
    r"|(?:^|_)freq_(?:mask|masking|mix|mixing|mixup|aug|augment|augmentation|domain|bands?|loss|drop|dropout|filter)(?:_|$)",
    re.IGNORECASE,
)
_INTERVAL = pattern(r"(?:^|_)(?:freq|frequency|interval|every|period)$", re.IGNORECASE)
_ONE_OR_MORE = (ast.Eq, ast.NotEq, ast.LtE, ast.Gt)


def is_no_interval(test: ast.expr) -> bool:
    """Whether a test speaks of frequencies, or asks how an interval is set: the same in all turns."""
    return _asks_for_frequencies(test) or _asks_for_every_turn(test)


def _asks_for_frequencies(test: ast.expr) -> bool:
    """`if self.smooth_freq:`, `if self.freq_mask_rate > 0:`: what is done to frequencies, not how often."""
    if not isinstance(test, ast.Compare):
        return bool(_FREQUENCIES.search(name_of(test)))
    named = _FREQUENCIES.search(name_of(test.left)) is not None
    return named and all(isinstance(side, ast.Constant) for side in test.comparators)


def _asks_for_every_turn(test: ast.expr) -> bool:
    """`args.accum_freq == 1`, `self.reg_every > 1`."""
    if not isinstance(test, ast.Compare) or not isinstance(test.ops[0], _ONE_OR_MORE):
        return False
    return is_literal(test.comparators[0], 1) and bool(_INTERVAL.search(name_of(test.left)))
