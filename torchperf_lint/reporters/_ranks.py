"""The ranks of a run beside each other: what each does alone in a step, where they meet, who is late and in what."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from torchperf_lint.amounts import NOT_MEASURED, number, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Rank
from torchperf_lint.reporters._html_tags import Markup, el, lines, table
from torchperf_lint.reporters._page import INDENT, Page
from torchperf_lint.reporters._words import counted, signal_name
from torchperf_lint.stragglers import PHASES, Turns, alone, comparable, late_phases, named, turns

_HEAD = ("step", "data", "forward", "after", "backward", "exchange", "late")
_WIDTH = 9
_MOST = 16
_MOST_NAMED = 5
_CAPTION = "medians per step in ms; after: after the step; exchange: collectives that Python calls"
_BACKWARD = "what DistributedDataParallel exchanges is part of backward"


class Row(NamedTuple):
    """One rank in words, `-` for what was not measured."""

    name: str
    figures: tuple[str, ...]
    phase: str
    """The phase in which it is late in general."""


def rows(run: Evidence) -> list[Row]:
    """The ranks that do most alone first, if there are too many to show; nothing where nothing tells them apart."""
    if len(run.ranks) < 2 or run.simulated or not any(rank.alone_ms for rank in run.ranks):
        return []
    found, late = turns(run), late_phases(run)
    shown = sorted(run.ranks, key=alone, reverse=True)[:_MOST] if len(run.ranks) > _MOST else run.ranks
    each = [(run.ranks.index(rank), rank) for rank in shown]
    return [Row(named(rank), _figures(rank, index, found), late.get(index, "")) for index, rank in each]


def show_ranks(sheet: Page, run: Evidence) -> None:
    """A table, or a sentence for each where the page is narrow."""
    each = rows(run)
    if not each:
        return
    sheet.heading("Ranks")
    sheet.paragraph("", _caption(run), "dim")
    room = max(len(row.name) for row in each)
    if sheet.width < INDENT + room + len(_HEAD) * _WIDTH:
        for row in each:
            said = ", ".join(f"{name} {figure}" for name, figure in zip(_HEAD, row.figures, strict=True))
            sheet.paragraph("", f"{row.name}: {said} {row.phase}".rstrip())
    else:
        head = "".join(f"{name:>{_WIDTH}}" for name in _HEAD)
        sheet.line(Text(f"{' ' * (INDENT + room)}{head}", style="dim"))
        for row in each:
            figures = "".join(f"{figure:>{_WIDTH}}" for figure in row.figures)
            sheet.line(Text.assemble(" " * INDENT, (row.name.ljust(room), "bold"), figures))
    _more(sheet, run, each)


def html_ranks(run: Evidence) -> Markup:
    """The same for the page; nothing for one process."""
    each = rows(run)
    if not each:
        return Markup("")
    head = ("rank", "late in general in", *(f"{name}, ms" for name in _HEAD[:-1]), "late")
    left = len(run.ranks) - len(each)
    more = [el("p", f"and {counted(left, 'more rank')}")] if left else []
    never = "none" if comparable(run.ranks) else NOT_MEASURED
    body = [(row.name, row.phase or never, *row.figures) for row in each]
    return lines(
        el("h2", "Ranks"),
        table(f"{_CAPTION[0].upper()}{_caption(run)[1:]}; {_BACKWARD}.", head, body, numbers=len(_HEAD)),
        *more,
    )


def ended_early(run: Evidence) -> list[str]:
    """Ranks that came less far than others, or ended otherwise than the run did, with their last step."""
    if len(run.ranks) < 2:
        return []
    farthest = max(rank.steps for rank in run.ranks)
    notes = [
        f"{said}: its last step on record was {rank.steps} of {farthest}"
        for rank in run.ranks
        if (said := _end(rank, run))
    ]
    left = len(notes) - _MOST_NAMED
    return [*notes[:_MOST_NAMED], f"and {counted(left, 'more rank')}"] if left > 0 else notes


def _end(rank: Rank, run: Evidence) -> str | None:
    """How it ended, if early; None where that is nothing to speak of."""
    if rank.rank is None and (rank.group or 0) < 2:
        return None
    name, code = named(rank), rank.returncode
    if code is not None and code < 0:
        return f"{name} was killed by {signal_name(-code)}"
    if code:
        return f"{name} ended with exit code {code}"
    if rank.steps >= max(other.steps for other in run.ranks):
        return None
    return f"{name} ended early" if rank.ended else f"{name} came less far, and how it ended was not recorded"


def _figures(rank: Rank, index: int, found: Turns | None) -> tuple[str, ...]:
    step = rank.step_ms.median if rank.step_ms is not None else None
    times = [step, *(rank.alone_ms.get(phase) for phase in PHASES)]
    times += [rank.together_ms.get(phase) for phase in ("backward", "collectives")]
    late = percent(found.late.get(index, 0) / found.steps) if found is not None else NOT_MEASURED
    return (*(NOT_MEASURED if time is None else number(time) for time in times), late)


def _caption(run: Evidence) -> str:
    found = turns(run)
    late = f"; late: of {found.steps} steps compared one by one" if found is not None else ""
    return f"{_CAPTION}{late}"


def _more(sheet: Page, run: Evidence, each: list[Row]) -> None:
    late = [row for row in each if row.phase]
    said = [f"late in general: {row.name}, in {row.phase}" for row in late]
    left = len(run.ranks) - len(each)
    said += [f"and {counted(left, 'more rank')}"] if left else []
    if any(rank.together_ms for rank in run.ranks):
        said.append(_BACKWARD)
    sheet.paragraph("", "; ".join(said))
