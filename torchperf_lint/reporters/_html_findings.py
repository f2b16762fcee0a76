"""What a run says about each finding, with its code, and what it saw where no finding stands."""

from __future__ import annotations

from collections.abc import Iterable

from torchperf_lint.model import Finding, Location, Outcome
from torchperf_lint.reporters import View
from torchperf_lint.reporters._frame import frame
from torchperf_lint.reporters._html_tags import Markup, code_in, cut, el, joined, lines, path_in, table
from torchperf_lint.reporters._run_findings import figures, summary_of
from torchperf_lint.reporters._run_first import price
from torchperf_lint.reporters._run_unnamed import (
    bursts,
    bursts_heading,
    said_at,
    said_of_burst,
    unnamed,
    unnamed_at,
    unnamed_heading,
)
from torchperf_lint.reporters._sources import Sources
from torchperf_lint.reporters._verdicts import confirmed, turn, why_not_measured, word
from torchperf_lint.reporters._words import counted, place
from torchperf_lint.run_report import RunReport
from torchperf_lint.verdict import digest_of

_COLUMNS = 110
_MOST_ROWS = 300
_MOST_CARDS = 120
_ROOM = 450_000
"""Characters for all cards together: the page stays under a megabyte whatever was found."""
_MOST_SITES = 100
FINDINGS = "findings"
"""What links on the page call the section."""
_HEAD = ("blocked, ms", "bubble, ms", "share")


def findings(report: RunReport, view: View) -> Markup:
    """A table of all, the dearest first, then each with its code and reasons."""
    every = ranked(report)
    if not every:
        return joined(el("h2", "Findings", id=FINDINGS), el("p", "None in the files that ran."))
    frames = Frames(report, view)
    shown: list[Markup] = []
    left = _ROOM
    for number, finding in enumerate(every[:_MOST_CARDS]):
        made = _card(finding, number, report, frames)
        left -= len(made)
        if left < 0:
            break
        shown.append(made)
    rows = [_row(finding, number if number < len(shown) else None, report) for number, finding in enumerate(every)]
    more = [el("p", f"and {counted(len(rows) - _MOST_ROWS, 'more finding')}")] if len(rows) > _MOST_ROWS else []
    untold = len(every) - len(shown)
    rest = [el("p", f"{counted(untold, 'more finding')}: see --report and --explain")] if untold else []
    return lines(
        el("h2", summary_of(every), id=FINDINGS),
        table(
            _caption(report),
            ("where", "finding", "verdict", f"a {turn(report.run)}", *_HEAD),
            rows[:_MOST_ROWS],
            numbers=4,
        ),
        *more,
        *shown,
        *rest,
    )


def ranked(report: RunReport) -> list[Finding]:
    """The confirmed, the dearest first, then the others by verdict."""
    sure = confirmed(report.report.findings, report.run)
    order = list(Outcome)
    others = [f for f in report.report.findings if f.verdict is None or f.verdict.outcome is not Outcome.CONFIRMED]
    others.sort(key=lambda f: (order.index(f.verdict.outcome) if f.verdict else len(order), f.sort_key))
    return [*sure, *others]


def _caption(report: RunReport) -> str:
    missing = why_not_measured(report.run)
    return (
        "Host time blocked, and device time idle behind it (bubble), are upper bounds of what a change saves. "
        f"A figure shown as - was not measured: {missing}"
    )


def _row(finding: Finding, card: int | None, report: RunReport) -> tuple[str, ...]:
    where = path_in(place(finding.location))
    link = el("a", where, href=f"#f{card}") if card is not None else where
    return (link, f"{finding.code} {finding.name}", _verdict(finding), *figures(finding, report.run))


def _verdict(finding: Finding) -> Markup:
    verdict = finding.verdict
    if verdict is None:
        return el("span", "not judged", class_="tag")
    looks = "tag bad" if verdict.outcome is Outcome.CONFIRMED else "tag"
    return el("span", word(verdict), class_=looks)


def _card(finding: Finding, number: int, report: RunReport, frames: Frames) -> Markup:
    """What is confirmed lies open; the rest is a line that opens."""
    verdict = finding.verdict
    confirms = verdict is not None and verdict.outcome is Outcome.CONFIRMED
    said = [("seen", code_in(verdict.reason))] if verdict is not None else []
    if verdict is not None and confirms:
        said.append(("price", joined(price(verdict, report.run))))
    said.append(("instead", instead(finding.advice)))
    said += [
        (name, code_in(why)) for name, why in (("why tensor", finding.why_tensor), ("why hot", finding.why_hot)) if why
    ]
    head = el("h3", path_in(place(finding.location)), " ", finding.code, " ", finding.name, " ", _verdict(finding))
    # A link to what lies within closed details opens them.
    body = el(
        "div",
        el("p", code_in(finding.message)),
        frames.of(finding),
        described(said),
        el("p", "read more: ", el("code", f"torchperf-lint --explain {finding.code}"), class_="dim"),
        id=f"f{number}",
    )
    if confirms:
        return el("article", head, body, class_="card")
    return el("details", el("summary", head), body, class_="card")


def described(said: Iterable[tuple[str, str]]) -> Markup:
    """Labels and what stands beside them."""
    return el("dl", *(joined(el("dt", label), el("dd", text)) for label, text in said), class_="why")


def instead(text: str) -> Markup:
    """One line is words; several are code."""
    code = cut(text.strip("\n")).expandtabs(4)
    return el("pre", code, tabindex="0") if "\n" in code else code_in(code)


class Frames:
    """The lines that findings point at, of the text that ran: another text's line would mislead."""

    def __init__(self, report: RunReport, view: View) -> None:
        self._report, self._view, self._sources = report, view, Sources(view)
        self._same: dict[str, bool] = {}

    def of(self, finding: Finding) -> Markup:
        """A frame, or why there is none."""
        return self.at(finding.location)

    def at(self, at: Location) -> Markup:
        """The same of any place."""
        if not self._is_what_ran(at.path):
            return el("p", "The file is not here as it ran, so its lines are not shown.", class_="dim")
        rows = frame(self._sources.lines(at), at, _COLUMNS, context=1)
        if not rows:
            return Markup("")
        gutter = max(len(str(row.number or "")) for row in rows)
        shown = []
        for row in rows:
            shown.append(el("span", f"{row.number or '':>{gutter}} | ", class_="dim"))
            shown.append(joined(row.text, "\n"))
            if row.marks:
                shown.append(el("span", f"{'':>{gutter}} | ", class_="dim"))
                shown.append(joined(el("span", row.marks, class_="mark"), "\n"))
        return el("pre", *shown, class_="frame", tabindex="0")

    def _is_what_ran(self, path: str) -> bool:
        ran = self._report.run.sources.get(path)
        if ran is None or path in self._view.texts:
            return True
        if path not in self._same:
            self._same[path] = digest_of(self._view.cwd / path) == ran
        return self._same[path]


def sites(report: RunReport) -> Markup:
    """Waits and copies of every step that no finding names, and waits in bursts; nothing where there are none."""
    hot, run = unnamed(report), report.run
    parts: list[Markup] = []
    if hot:
        rows = [(path_in(unnamed_at(entry, report)), said_at(entry, run)) for entry in hot[:_MOST_SITES]]
        caption = "Lines of the project, then of packages; the costliest first"
        parts += [el("h2", unnamed_heading(report, hot), id="sites"), table(caption, ("where", "what"), rows)]
        left = len(hot) - _MOST_SITES
        parts += [el("p", f"and {counted(left, 'more line')}")] if left > 0 else []
    most = bursts(report)
    if most:
        rows = [(path_in(unnamed_at(entry, report)), said_of_burst(entry, run)) for entry in most]
        parts += [el("h2", bursts_heading(most, run)), table("The most frequent", ("where", "what"), rows)]
    return lines(*parts)
