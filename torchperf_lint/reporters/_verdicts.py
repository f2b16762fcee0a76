"""Verdicts in words, and the findings ranked by what they cost."""

from __future__ import annotations

from torchperf_lint.model import Outcome, Verdict
from torchperf_lint.verdict import NEGLIGIBLE


def negligible(entry: Verdict) -> bool:
    """Whether a confirmed finding was measured to cost next to nothing."""
    share = entry.share_of_step
    return entry.outcome is Outcome.CONFIRMED and share is not None and share < NEGLIGIBLE


def word(entry: Verdict) -> str:
    """`confirmed`, `confirmed, negligible`, `not reached`, ..."""
    text = entry.outcome.value.replace("-", " ")
    return f"{text}, negligible" if negligible(entry) else text
