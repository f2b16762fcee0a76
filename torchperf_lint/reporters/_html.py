"""A run as one page that needs nothing else: no script, no network, no font; escaped throughout."""

from __future__ import annotations

from torchperf_lint.amounts import ms, percent
from torchperf_lint.comparing import Comparison
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.model import Diagnosis
from torchperf_lint.reporters import View
from torchperf_lint.reporters._html_compared import compared
from torchperf_lint.reporters._html_findings import Frames, described, findings, instead, sites
from torchperf_lint.reporters._html_style import style
from torchperf_lint.reporters._html_tags import Markup, code_in, el, joined, lines
from torchperf_lint.reporters._html_time import over_time, where_it_went
from torchperf_lint.reporters._ranks import html_ranks
from torchperf_lint.reporters._run import device_of, end_of, notes, ranks_of, steps_of
from torchperf_lint.reporters._run_first import First, first, price
from torchperf_lint.reporters._words import place
from torchperf_lint.run_report import RunReport

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Whatever a text of the project turned into: nothing is loaded, run or sent."""
_UNKNOWN = "not recorded"


def page_of(report: RunReport, view: View, comparison: Comparison | None = None) -> str:
    """The page about a run; with a comparison, about the run after the change."""
    todo = first(report)
    before = [compared(comparison)] if comparison is not None else []
    body = lines(
        el("header", el("h1", f"torchperf-lint: {report.script}"), _facts(report.run)),
        el("main", lines(*before, *_sections(report, view, todo))),
    )
    head = lines(
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="referrer", content="no-referrer"),
        el("title", f"{report.script} - torchperf-lint"),
        el("style", style()),
    )
    return f"<!DOCTYPE html>\n{el('html', lines(el('head', head), el('body', body)), lang='en')}\n"


def _sections(report: RunReport, view: View, todo: list[First]) -> list[Markup]:
    return [
        _bounds(report),
        _first(report, view, todo),
        where_it_went(report),
        over_time(report.run),
        html_ranks(report.run),
        findings(report, view),
        sites(report),
        _notes(report),
    ]


def _facts(run: Evidence) -> Markup:
    machine = machine_of(run.utilisation)
    cores = f", {machine.cores:g} cores allowed ({machine.cores_from})" if machine.cores is not None else ""
    said = [
        ("host", f"{run.platform}{cores}" if run.platform else f"{_UNKNOWN}{cores}"),
        ("device", device_of(run)),
        ("torch", run.torch or "not imported by the script"),
        ("Python", run.python or _UNKNOWN),
        ("steps", _steps(run)),
        ("time of a step", _step_time(run)),
        ("in all", ms(run.wall_s * 1000) if run.wall_s is not None else _UNKNOWN),
        ("exit code", _ending(run)),
    ]
    if len(run.ranks) > 1:
        said.append(("ranks", ranks_of(run)))
    return el("dl", *(el("div", el("dt", name), el("dd", text)) for name, text in said), class_="facts")


def _steps(run: Evidence) -> str:
    warm = f", the first {run.warmup} left out of times" if run.steps else ""
    return f"{steps_of(run)}{warm}"


def _step_time(run: Evidence) -> str:
    if run.simulated:
        return "not measured: the device is simulated"
    if run.step_ms is None:
        return "not measured: no step came after the warm-up"
    return f"median {ms(run.step_ms.median)}, p95 {ms(run.step_ms.p95)}"


def _ending(run: Evidence) -> str:
    return ", ".join(end_of(run)) or ("none: a block of a process" if run.in_process else str(run.returncode))


def _bounds(report: RunReport) -> Markup:
    said = [_diagnosis(diagnosis) for diagnosis in report.diagnoses]
    return lines(el("h2", "What bounds it"), *(said or [el("p", "Nothing was found that bounds it.")]))


def _diagnosis(diagnosis: Diagnosis) -> Markup:
    share = getattr(diagnosis, "share", None)
    parts = [("measured", code_in(diagnosis.evidence)), ("advice", code_in(diagnosis.advice))]
    if share is not None:
        parts.insert(0, ("share", joined(f"{percent(share)} of the step")))
    head = el("h3", diagnosis.code, " ", code_in(diagnosis.title))
    return el("article", head, described(parts), class_="card")


def _first(report: RunReport, view: View, todo: list[First]) -> Markup:
    if not todo:
        return Markup("")
    frames = Frames(report, view)
    items = [el("li", *_entry(entry, report, frames)) for entry in todo]
    return lines(el("h2", "Do this first" if len(todo) == 1 else "Do these first"), el("ol", lines(*items)))


def _entry(entry: First, report: RunReport, frames: Frames) -> list[Markup]:
    parts = []
    if entry.diagnosis is not None:
        parts.append(el("p", code_in(entry.diagnosis.advice), f" ({entry.diagnosis.code})"))
    finding = entry.finding
    if finding is not None:
        parts.append(el("p", el("strong", place(finding.location)), f" {finding.code} {finding.name}"))
        parts.append(frames.of(finding))
        said = [("instead", instead(finding.instead))]
        if finding.verdict is not None:
            said += [("seen", code_in(finding.verdict.reason)), ("price", joined(price(finding.verdict, report.run)))]
        parts.append(described(said))
    return parts


def _notes(report: RunReport) -> Markup:
    said = notes(report)
    return lines(el("h2", "Notes"), el("ul", *(el("li", code_in(note)) for note in said))) if said else Markup("")
