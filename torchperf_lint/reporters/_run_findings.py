"""What a run says about each finding, and what it saw where no finding stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeVar

from rich.text import Text

from torchperf_lint.amounts import NOT_MEASURED, ms, number, often, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Finding, Outcome, Verdict
from torchperf_lint.rates import EVALUATION, STEP, rate_of, times_of
from torchperf_lint.recorded import Event
from torchperf_lint.reporters._page import INDENT, Page
from torchperf_lint.reporters._verdicts import confirmed, negligible, turn, why_not_measured, word
from torchperf_lint.reporters._words import counted, printable
from torchperf_lint.run_report import RunReport
from torchperf_lint.waits import OF_INDEX

_MOST_CONFIRMED = 12
_MOST_LINES = 12
"""Of the table and the groups below it, where the table leaves room."""
_FEWEST_GROUPS = 3
_MOST_PLACES = 6
_MOST_UNFOUND = 10
_ALL = "`--html FILE` and `--output-format json` list all"
_NARROW = 72
"""Below so many columns a row of the table becomes a sentence."""
_OUTCOME = 14
"""Columns of `unobservable` with the space after it."""
_COLUMNS = (("N", 8), ("blocked", 8), ("bubble", 8), ("share", 6))
_VERDICT = 22
Entry = TypeVar("Entry")
_INSTALLED = ("site-packages/", "dist-packages/")


def verdicts(sheet: Page, report: RunReport) -> None:
    """The confirmed findings with their price, at most twelve; the others by what was seen, in the lines left."""
    findings = report.report.findings
    if not findings:
        return
    sure = confirmed(findings, report.run)
    groups = _groups(findings)
    shown = _cut(sure, _MOST_CONFIRMED)
    shown_groups = _cut(groups, max(_MOST_LINES - len(shown), _FEWEST_GROUPS))
    sheet.heading(summary_of(findings))
    if shown:
        _table(sheet, shown, report.run)
    for (outcome, reason), members in shown_groups:
        sheet.paragraph(outcome, f"{_places(members)}: {reason}", room=_OUTCOME)
    left = [*sure[len(shown) :], *(f for _, members in groups[len(shown_groups) :] for f in members)]
    if left:
        sheet.paragraph("", f"and {len(left)} more: {_outcomes(left)} ({_ALL})")


def _cut(entries: Sequence[Entry], most: int) -> Sequence[Entry]:
    """The first of them; a line that says that there is one more would be no shorter than that one."""
    return entries if len(entries) == most + 1 else entries[:most]


def summary_of(findings: Sequence[Finding]) -> str:
    """`3 findings: 2 confirmed, 1 refuted`."""
    return f"{counted(len(findings), 'finding')}: {_outcomes(findings)}"


def _outcomes(findings: Iterable[Finding]) -> str:
    counts = Counter(f.verdict.outcome for f in findings if f.verdict is not None)
    words = [f"{counts[outcome]} {outcome.value.replace('-', ' ')}" for outcome in Outcome if counts[outcome]]
    return ", ".join(words) or "not judged"


def _groups(findings: Iterable[Finding]) -> list[tuple[tuple[str, str], list[Finding]]]:
    """Findings that are not confirmed, by outcome and reason: what is the same is said once."""
    groups: dict[tuple[str, str], list[Finding]] = {}
    for outcome in Outcome:
        for finding in findings:
            if finding.verdict is not None and finding.verdict.outcome is outcome is not Outcome.CONFIRMED:
                groups.setdefault((word(finding.verdict), finding.verdict.reason), []).append(finding)
    return list(groups.items())


def _places(findings: Sequence[Finding]) -> str:
    places: dict[str, list[str]] = {}
    for finding in findings[:_MOST_PLACES]:
        places.setdefault(finding.code, []).append(_where(finding))
    text = "; ".join(f"{code} {', '.join(at)}" for code, at in places.items())
    left = len(findings) - _MOST_PLACES
    return f"{text} and {left} more" if left > 0 else text


def _where(finding: Finding) -> str:
    return f"{printable(finding.location.path)}:{finding.location.line}"


def _table(sheet: Page, findings: Sequence[Finding], run: Evidence) -> None:
    if sheet.width < _NARROW:
        for finding in findings:
            _sentence(sheet, finding, run)
    else:
        numbers = sum(width for _, width in _COLUMNS)
        where = sheet.width - INDENT - len("TPL101 ") - numbers - _VERDICT
        where = min(where, max(len(_where(f)) for f in findings))
        head = "".join(f"{_named(name, run):>{width}}" for name, width in _COLUMNS)
        sheet.line(Text(f"{' ' * INDENT}{'code':<7}{'where':<{where}}{head}  verdict", style="dim"))
        for finding in findings:
            _row(sheet, finding, run, where)
    _footnotes(sheet, findings, run)


def _row(sheet: Page, finding: Finding, run: Evidence, where: int) -> None:
    at = _where(finding)
    line = Text.assemble(" " * INDENT, (f"{finding.code} ", "cyan"), (at.ljust(where), "bold"))
    if len(at) > where:
        sheet.line(line)
        line = Text(" " * (INDENT + len("TPL101 ") + where))
    for (_, width), figure in zip(_COLUMNS, figures(finding, run), strict=True):
        line.append(f"{figure:>{width}}")
    sheet.line(line.append(f"  {_word(finding)}"))


def _sentence(sheet: Page, finding: Finding, run: Evidence) -> None:
    times, blocked, bubble, share = figures(finding, run)
    sheet.paragraph("", f"{finding.code} {_where(finding)}: {_word(finding)}", "bold")
    said = f"{_named('N', run)} {times}, blocked {blocked}, bubble {bubble}, share {share}"
    sheet.paragraph("", said, indent=2 * INDENT)


def _word(finding: Finding) -> str:
    return word(finding.verdict) if finding.verdict is not None else "not judged"


def figures(finding: Finding, run: Evidence) -> tuple[str, str, str, str]:
    """How often a step, ms blocked, ms of bubble, share of the step; `-` for what was not measured."""
    verdict = finding.verdict
    return (
        _times(finding, run),
        _figure(verdict.blocked_ms_per_step if verdict else None),
        _figure(verdict.bubble_ms_per_step if verdict else None),
        _share(verdict.share_of_step if verdict else None),
    )


def _named(column: str, run: Evidence) -> str:
    """The column's head: how often is said per step, per batch where nothing trains, per call where no loader is."""
    return f"N/{turn(run)}" if column == "N" else column


def _times(finding: Finding, run: Evidence) -> str:
    times, unit = times_of(finding, run) or (None, STEP)
    if times is None:
        return NOT_MEASURED
    return f"{often(times)} ev" if unit == EVALUATION and run.steps else often(times)


def _figure(value: float | None) -> str:
    return NOT_MEASURED if value is None else number(value)


def _share(value: float | None) -> str:
    return NOT_MEASURED if value is None else percent(value).replace("under 1 %", "<1 %")


def _footnotes(sheet: Page, findings: Sequence[Finding], run: Evidence) -> None:
    judged = [finding.verdict for finding in findings if finding.verdict is not None]
    measured = [v for v in judged if v.blocked_ms_per_step is not None or v.bubble_ms_per_step is not None]
    if measured:
        sheet.paragraph("", f"blocked, bubble in ms per {turn(run)}; {upper_bound(measured)}", "dim")
    if any(negligible(verdict) for verdict in measured):
        sheet.paragraph("", f"negligible: under 1 % of the {turn(run)}", "dim")
    if any(_times(finding, run).endswith(" ev") for finding in findings):
        sheet.paragraph("", f"ev: per {run.eval_unit}", "dim")
    if any(NOT_MEASURED in figures(finding, run)[1:] for finding in findings):
        sheet.paragraph("", f"{NOT_MEASURED} not measured: {why_not_measured(run)}", "dim")


def upper_bound(measured: Sequence[Verdict]) -> str:
    """Which of the two figures bounds what a change saves."""
    if any(verdict.bubble_ms_per_step is not None for verdict in measured):
        return "bubble: the device idles behind the wait, an upper bound of what removal saves"
    return "blocked: upper bound of what removal saves"


def unfound(sheet: Page, report: RunReport) -> None:
    """The lines that wait or copy in every step where no finding stands; the costliest ten."""
    hot = unnamed(report)
    if not hot:
        return
    sheet.heading(unnamed_heading(report))
    shown = _cut(hot, _MOST_UNFOUND)
    for events in shown:
        sheet.paragraph("", f"{unnamed_at(events[0], report)}: {said_at(events, report.run)}")
    if len(hot) > len(shown):
        sheet.paragraph("", f"and {counted(len(hot) - len(shown), 'more line')} ({_ALL})")


def unnamed_heading(report: RunReport) -> str:
    """What the lines have in common, and what their times mean where they have any."""
    timed = not report.run.simulated and any(e.blocked_ms for events in unnamed(report) for e in events)
    bound = " (blocked: upper bound)" if timed else ""
    run = report.run
    units = {run.eval_unit if _of_evaluation(events, run) else turn(run) for events in unnamed(report)}
    every = " or ".join(sorted(units, key=lambda unit: unit != turn(run)))
    return f"Waits and copies of every {every} that no finding names{bound}"


def _of_evaluation(events: Sequence[Event], run: Evidence) -> bool:
    """Whether it is evaluation that they happen regularly in: a mean over few training steps would mislead."""
    return bool(run.steps) and not run.every_training_step(events)


def unnamed(report: RunReport) -> list[list[Event]]:
    """The events of every step that no finding names, by place."""
    places: dict[tuple[str, int, tuple[str, int] | None], list[Event]] = {}
    for event in report.unfound:
        places.setdefault((event.path, event.line, event.via), []).append(event)
    return [events for events in places.values() if report.run.every_step(events)]


def unnamed_at(event: Event, report: RunReport) -> str:
    """`train.py:12`, and `train.py:12:30` where a finding names another place of the same line."""
    beside = any(
        at.path == event.path and at.line <= event.line <= at.end_line
        for finding in report.report.findings
        for at in (finding.location, *(related.location for related in finding.related))
    )
    return f"{site_of(event)}:{event.column}" if beside and event.column and event.via is None else site_of(event)


def site_of(event: Event) -> str:
    """`train.py:12`, or the package's line and the one that led there."""
    path = printable(event.path)
    if event.via is None:
        return f"{path}:{event.line}"
    for installed in _INSTALLED:
        path = path.rpartition(installed)[2]
    return f"in package {path}:{event.line}, called from {printable(event.via[0])}:{event.via[1]}"


def said_at(events: Sequence[Event], run: Evidence) -> str:
    """What the events of one place are, how often, and what they cost."""
    what = said_of(events)
    parts = [what, *_rate(events, run)]
    blocked = sum(event.blocked_ms or 0.0 for event in events if event.kind == "sync")
    turns, _ = run.paid_by
    if blocked and turns and not run.simulated:
        parts.append(f"blocked {ms(blocked / turns)} a {turn(run)}")
    bubble = run.bubble_per_step(event for event in events if event.kind == "sync")
    if bubble is not None:
        parts.append(f"the device idles {ms(bubble)} a step for it")
    return ", ".join(parts)


def _rate(events: Sequence[Event], run: Evidence) -> list[str]:
    """How often, of the kind that happens most."""
    rate = rate_of(events, run, EVALUATION if _of_evaluation(events, run) else STEP)
    if rate is None:
        return []
    unit = run.eval_unit if rate[1] == EVALUATION else STEP
    return [f"{often(rate[0])} {'an' if unit[0] in 'aeiou' else 'a'} {unit}"]


def said_of(events: Sequence[Event]) -> str:
    """What the events of one place are."""
    return " and ".join(dict.fromkeys(_what(event) for event in events))


def _what(event: Event) -> str:
    if event.attributes.get(OF_INDEX):
        return "copy to the device (of an index of the host, for its gradient)"
    if event.kind == "copy":
        return {"h2d": "copy to the device", "d2h": "copy to the host"}.get(event.what, f"copy ({event.what})")
    return f"synchronisation ({event.what})"
