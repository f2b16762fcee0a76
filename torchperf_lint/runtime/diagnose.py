"""Evidence -> what bounds the run, the strongest first. Torch-free: the rules judge, this file runs them."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import NamedTuple

from torchperf_lint import catalog
from torchperf_lint.bounds import Phase, breakdown
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Diagnosis, Problem
from torchperf_lint.rule import RunRule

__all__ = ["NOT_DECIDED", "Diagnosed", "Phase", "breakdown", "diagnose"]

logger = logging.getLogger(__name__)
NOT_DECIDED = "TPL900"
"""The rule that speaks where no other has anything to say."""
_COMPUTES = "TPL910"
"""The rule that sums up a run without a device: it stands behind what names a cause."""


class Diagnosed(NamedTuple):
    """What the run rules say, and which of them could not."""

    diagnoses: tuple[Diagnosis, ...]
    problems: tuple[Problem, ...]


def diagnose(run: Evidence, codes: Collection[str] | None = None) -> Diagnosed:
    """Ask every run rule of the catalogue that is among `codes` (None: those that are on by default)."""
    chosen = catalog.selected_codes(None) if codes is None else codes
    rules = [rule() for rule in catalog.rule_classes() if issubclass(rule, RunRule) and rule.code in chosen]
    problems: list[Problem] = []
    found = [d for rule in rules if rule.code != NOT_DECIDED for d in _asked(rule, run, problems)]
    if not found:
        found = [d for rule in rules if rule.code == NOT_DECIDED for d in _asked(rule, run, problems)]
    return Diagnosed(tuple(sorted(found, key=_strongest)), tuple(problems))


def _asked(rule: RunRule, run: Evidence, problems: list[Problem]) -> list[Diagnosis]:
    try:
        return list(rule.diagnose(run))
    except Exception as error:
        logger.debug("%s could not judge the run", rule.code, exc_info=True)
        place = run.argv[0] if run.argv else "the recorded run"
        problems.append(Problem(place, None, f"the rule crashed: {type(error).__name__}: {error}", rule.code))
        return []


def _strongest(diagnosis: Diagnosis) -> tuple[bool, bool, float, str, str]:
    share = getattr(diagnosis, "share", None)
    behind = diagnosis.code == _COMPUTES
    return (not share, behind, -(share if share is not None else 0.0), diagnosis.code, diagnosis.title)
