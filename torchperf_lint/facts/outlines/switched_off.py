"""Switches that a file writes out as off: `TRAIN = False`, and then `if TRAIN:`.

Whoever edits the file may turn them on; as it stands, the branch does not run.
"""

from __future__ import annotations

import ast
import re

from torchperf_lint.facts.outlines.device_tests import without_not
from torchperf_lint.facts.outlines.guards import Guard
from torchperf_lint.facts.syntax.conditions import short, words
from torchperf_lint.patterns import pattern

_CONSTANT = pattern(r"^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*$")
_OFF = frozenset({"False", "0", "None"})


def switched_off(test: ast.expr, text: str) -> Guard | None:
    """Why a branch does not run that asks for a constant, which the file's text binds once, to False, 0 or None."""
    bare, negated = without_not(test)
    if not isinstance(bare, ast.Name) or not _CONSTANT.match(bare.id):
        return None
    bound = re.findall(rf"(?<![\w.]){bare.id}(?: *: *\w+)? *=(?!=) *([^#\n]*)", text)
    off = len(bound) == 1 and bound[0].strip() in _OFF
    return Guard("debug", short(words(test)), otherwise=negated) if off else None
