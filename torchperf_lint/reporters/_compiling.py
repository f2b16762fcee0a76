"""What compiling took of a run, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchperf_lint.compile_cost import compile_cost, cost_said
from torchperf_lint.compiling import Recompiled
from torchperf_lint.evidence import Evidence

if TYPE_CHECKING:
    from torchperf_lint.reporters._page import Page  # draws with rich


def show_compiling(sheet: Page, run: Evidence) -> None:
    """A section of its own; nothing where nothing was compiled."""
    said = cost_said(run)
    if said:
        sheet.heading("Compiling (the whole run, warm-up included)")
    for text in said:
        sheet.paragraph("", text)


def compiling_figures(run: Evidence) -> dict[str, object] | None:
    """Of the JSON format: ms over the whole run; None where nothing was compiled."""
    cost = compile_cost(run)
    if cost is None:
        return None
    return {
        "count": cost.count,
        "ms": _rounded(cost.ms),
        "share_of_run": _rounded(cost.share),
        "parts": [{"what": part.what, "count": part.count, "ms": _rounded(part.ms)} for part in cost.parts],
        "again": [_again(found) for found in cost.again],
    }


def _again(found: Recompiled) -> dict[str, object]:
    return {
        "function": found.function,
        "path": found.path,
        "line": found.line,
        "guard": found.guard,
        "at": {"path": found.at[0], "line": found.at[1]} if found.at is not None else None,
        "count": found.count,
        "train_turns": found.turns,
        "ms": _rounded(found.total_ms),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
