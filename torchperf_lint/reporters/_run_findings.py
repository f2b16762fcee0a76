"""What a run says about each finding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from rich.text import Text

from torchperf_lint.amounts import NOT_MEASURED, number, often, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Finding, Outcome, Verdict
from torchperf_lint.rates import EVALUATION, STEP, times_of
from torchperf_lint.reporters._page import INDENT, Page
from torchperf_lint.reporters._run_unnamed import ALL
from torchperf_lint.reporters._verdicts import confirmed, negligible, turn, why_not_measured, word
from torchperf_lint.reporters._words import counted, cut, printable
from torchperf_lint.run_report import RunReport

_MOST_CONFIRMED = 12
_MOST_LINES = 12
"""Of the table and the groups below it, where the table leaves room."""
_FEWEST_GROUPS = 3
_MOST_PLACES = 6
_NARROW = 72
"""Below so many columns a row of the table becomes a sentence."""
_OUTCOME = 14
"""Columns of `unobservable` with the space after it."""
_COLUMNS = (("N", 8), ("blocked", 8), ("bubble", 8), ("share", 6))


def verdicts(sheet: Page, report: RunReport) -> None:
    """The confirmed findings with their price, at most twelve; the others by what was seen, in the lines left."""
    findings = report.report.findings
    if not findings:
        return
    sure = confirmed(findings, report.run)
    groups = _groups(findings)
    shown = cut(sure, _MOST_CONFIRMED)
    shown_groups = cut(groups, max(_MOST_LINES - len(shown), _FEWEST_GROUPS))
    sheet.heading(summary_of(findings))
    if shown:
        _table(sheet, shown, report.run)
    for (outcome, reason), members in shown_groups:
        sheet.paragraph(outcome, f"{_places(members)}: {reason}", room=_OUTCOME)
    left = [*sure[len(shown) :], *(f for _, members in groups[len(shown_groups) :] for f in members)]
    if left:
        sheet.paragraph("", f"and {len(left)} more: {_outcomes(left)} ({ALL})")


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
        head = "".join(f"{_named(name, run):>{width}}" for name, width in _COLUMNS)
        sheet.line(Text(f"{' ' * INDENT}{'code':<6}{head}  confirmed at", style="dim"))
        for finding in findings:
            _row(sheet, finding, run)
    _footnotes(sheet, findings, run)


def _row(sheet: Page, finding: Finding, run: Evidence) -> None:
    """Where it is stands last, so that a path of any length leaves the figures in their columns."""
    line = Text.assemble(" " * INDENT, (finding.code, "cyan"))
    for (_, width), figure in zip(_COLUMNS, figures(finding, run), strict=True):
        line.append(f"{figure:>{width}}")
    line.append("  ").append(_where(finding), "bold")
    if finding.verdict is not None and negligible(finding.verdict):
        line.append(" (negligible)", "dim")
    sheet.line(line)


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
