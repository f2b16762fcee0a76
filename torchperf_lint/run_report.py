"""What a report about a run is made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchperf_lint.model import Diagnosis, Report

if TYPE_CHECKING:
    from torchperf_lint.bounds import Phase
    from torchperf_lint.events import RawRun
    from torchperf_lint.evidence import Evidence
    from torchperf_lint.recorded import Event


@dataclass(frozen=True)
class RunReport:
    """A judged run. Whoever makes one calls `verdict.judged`, `verdict.unfound`, `diagnose` and `breakdown`."""

    script: str
    """As on the command line: a path, or `-m package.module`."""
    run: Evidence
    report: Report = field(default_factory=Report)
    """Findings of the sources that ran, each with its verdict; what could not be checked is in `problems`."""
    diagnoses: tuple[Diagnosis, ...] = ()
    """The strongest first."""
    breakdown: tuple[Phase, ...] | None = None
    """None where no time was measured."""
    unfound: tuple[Event, ...] = ()
    """Synchronisations and copies at places where no finding stands, the costliest first."""
    changed: tuple[str, ...] = ()
    """Files that are no longer what ran."""
    record: str | None = None
    """Where the record lies, for `--report`."""
    runs: tuple[RawRun, ...] = field(default=(), repr=False, compare=False)
    """The records it was made of, one for each process."""
