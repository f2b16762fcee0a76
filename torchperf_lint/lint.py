"""SourceFile x rules -> findings: the only such loop.

Selection, per-file-ignores, suppressions, thresholds and merging by root cause happen here, once, so that every
front end gives the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torchperf_lint.model import Report
from torchperf_lint.settings import Settings


@dataclass(frozen=True)
class Target:
    """One project and the files of it that were asked about."""

    root: Path
    """Absolute; facts come from all Python files under it."""
    settings: Settings
    files: tuple[Path, ...]
    """Absolute, sorted."""
    texts: Mapping[Path, str] = field(default_factory=dict)
    """Texts that stand in for what is on disk (standard input, an editor's or flake8's buffer)."""


def lint(target: Target, honour_suppressions: bool = True) -> Report:
    """Findings in `target.files`, sorted. Never raises for what is in a file."""
    raise NotImplementedError
