"""One output format per file: a module without a leading underscore is a format, and has `render`."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from torchperf_lint.model import Report
from torchperf_lint.reporters._diff import unified
from torchperf_lint.reporters._words import counted, fixed, printable, problem, statistics

if TYPE_CHECKING:
    from torchperf_lint.comparing import Comparison
    from torchperf_lint.evidence import Evidence
    from torchperf_lint.run_report import RunReport

__all__ = [
    "View",
    "counted",
    "fixed",
    "formats",
    "printable",
    "problem",
    "render",
    "render_compared",
    "render_run",
    "run_page",
    "run_table",
    "run_trace",
    "statistics",
    "unified",
]


@dataclass(frozen=True)
class View:
    """How a report is shown; a format uses what concerns it."""

    width: int = 80
    """Columns."""
    color: bool = False
    quiet: bool = False
    """Findings only, no closing line."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Texts that stand in for what is on disk, by path as in the report."""
    unsafe_fixes: bool = False
    """Whether unsafe fixes count as fixes."""
    show_fixes: bool = False
    """List what was fixed."""
    cwd: Path = Path()
    """What the report's relative paths are relative to."""


def formats() -> tuple[str, ...]:
    """The names of the formats; nothing is imported."""
    names = (info.name for info in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.rstrip("_") for name in names if not name.startswith("_")))


def render(format_name: str, report: Report, view: View) -> str:
    """The report in a format of `formats()`, newline at the end unless empty."""
    text: str = import_module(_module(format_name)).render(report, view)
    return text


def render_run(format_name: str, report: RunReport, view: View) -> str:
    """The report about a run in a format of `formats()`."""
    text: str = import_module(_module(format_name)).render_run(report, view)
    return text


def render_compared(format_name: str, comparison: Comparison, view: View) -> str:
    """What a change between two runs did, in a format of `formats()`."""
    text: str = import_module(f"{__name__}._compared").render(format_name, comparison, view)
    return text


def run_page(report: RunReport, view: View, comparison: Comparison | None = None) -> str:
    """The report about a run as one HTML page that needs nothing else; `comparison`: with the run before it."""
    text: str = import_module(f"{__name__}._html").page_of(report, view, comparison)
    return text


def run_trace(report: RunReport) -> str:
    """A run over time, as JSON in the Trace Event Format, which ui.perfetto.dev opens."""
    text: str = import_module(f"{__name__}._trace").trace_of(report)
    return text


def run_table(run: Evidence) -> str:
    """What a run did, as HTML for a notebook's cell."""
    text: str = import_module(f"{__name__}._table").table(run)
    return text


def _module(format_name: str) -> str:
    # `json_` would otherwise be called as a module of the standard library is.
    return f"{__name__}.json_" if format_name == "json" else f"{__name__}.{format_name}"
