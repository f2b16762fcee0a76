"""A run as one page that needs nothing else: no script, no network, no font; escaped throughout."""

from __future__ import annotations

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import loop_of
from torchperf_lint.comparing import Comparison
from torchperf_lint.compile_cost import cost_said
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.model import Diagnosis
from torchperf_lint.reporters import View
from torchperf_lint.reporters._html_compared import compared
from torchperf_lint.reporters._html_findings import FINDINGS, Frames, described, findings, instead, sites
from torchperf_lint.reporters._html_style import style
from torchperf_lint.reporters._html_tags import Markup, code_in, el, joined, lines, path_in
from torchperf_lint.reporters._html_time import OVER_TIME, WHERE, over_time, where_it_went
from torchperf_lint.reporters._ranks import html_ranks
from torchperf_lint.reporters._run import device_of, end_of, facts, notes, ranks_of, steps_of
from torchperf_lint.reporters._run_first import First, first, head_of, is_possible, price
from torchperf_lint.reporters._words import place
from torchperf_lint.run_report import RunReport

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Whatever a text of the project turned into: nothing is loaded, run or sent."""
_NO_STEP = "not measured: no step came after the warm-up"
_UNKNOWN = "not recorded"
_BOUNDS, _FIRST, _ABOUT = "bounds", "first", "about"
"""What links on the page call the sections, with those that others name."""


def page_of(report: RunReport, view: View, comparison: Comparison | None = None) -> str:
    """The page about a run; with a comparison, about the run after the change."""
    todo = first(report)
    before = [compared(comparison)] if comparison is not None else []
    sections = [section for section in _sections(report, view, todo) if section]
    body = lines(
        el("header", el("p", "torchperf-lint", class_="dim"), el("h1", report.script), _in_short(report.run)),
        _contents(report, todo, before),
        el("main", lines(*before, *sections)),
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


def _in_short(run: Evidence) -> Markup:
    return el("ul", *(el("li", fact) for fact in facts(run)), class_="short")


def _contents(report: RunReport, todo: list[First], before: list[Markup]) -> Markup:
    names = [
        ("change", "What the change did" if before else ""),
        (_BOUNDS, "What bounds it"),
        (_FIRST, _to_do(todo) if _shows_first(report, todo) else ""),
        (WHERE, "The step"),
        (OVER_TIME, "Over time"),
        (FINDINGS, "Findings"),
        (_ABOUT, "About the run"),
    ]
    links = [el("li", el("a", name, href=f"#{target}")) for target, name in names if name]
    return el("nav", el("ul", *links, class_="short"), aria_label="On this page")


def _sections(report: RunReport, view: View, todo: list[First]) -> list[Markup]:
    return [
        _bounds(report),
        _first(report, view, todo),
        where_it_went(report),
        over_time(report.run),
        html_ranks(report.run),
        findings(report, view),
        sites(report),
        lines(el("h2", "About the run", id=_ABOUT), _facts(report.run)),
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
        (f"time of a {run.requests.unit if run.requests else 'step'}", _step_time(run)),
        ("in all", ms(run.wall_s * 1000) if run.wall_s is not None else _UNKNOWN),
        ("exit code", _ending(run)),
    ]
    if compiled := cost_said(run):
        said.append(("compiling", "; ".join(compiled)))
    if len(run.ranks) > 1:
        said.append(("ranks", ranks_of(run)))
    return el("dl", *(el("div", el("dt", name), el("dd", text)) for name, text in said), class_="facts")


def _steps(run: Evidence) -> str:
    warm = f", the first {run.warmup} left out of times" if run.steps else ""
    return f"{steps_of(run)}{warm}"


def _step_time(run: Evidence) -> str:
    if run.simulated:
        return "not measured: the device is simulated"
    turns = run.requests.ms if run.requests else run.step_ms
    if turns is None:
        return "not measured: none came after the warm-up" if run.requests else _NO_STEP
    return f"median {ms(turns.median)}, p95 {ms(turns.p95)}"


def _ending(run: Evidence) -> str:
    return ", ".join(end_of(run)) or ("none: a block of a process" if run.in_process else str(run.returncode))


def _bounds(report: RunReport) -> Markup:
    loop = loop_of(report.run)
    unit = loop.unit if loop is not None else "step"
    said = [_diagnosis(diagnosis, unit, leads=not number) for number, diagnosis in enumerate(report.diagnoses)]
    none = el("p", "Nothing was found that bounds it.", class_="card lead")
    return lines(el("h2", "What bounds it", id=_BOUNDS), *(said or [none]))


def _diagnosis(diagnosis: Diagnosis, unit: str, leads: bool) -> Markup:
    share = getattr(diagnosis, "share", None)
    told = [joined(f"{percent(share)} of the {unit}")] if share is not None else []
    parts = [("share", text) for text in told]
    parts += [("measured", code_in(diagnosis.evidence)), ("advice", code_in(diagnosis.advice))]
    head = el("h3", el("span", diagnosis.code, class_="tag"), " ", code_in(diagnosis.title))
    looks = "card lead act" if getattr(diagnosis, "actionable", False) else "card lead"
    return el("article", head, described(parts), class_=looks if leads else "card")


def _to_do(todo: list[First]) -> str:
    return "Do this first" if len(todo) == 1 else "Do these first"


def _shows_first(report: RunReport, todo: list[First]) -> bool:
    """Whether there is more to do than what stands above already."""
    only = todo[0] if len(todo) == 1 else First()
    alone = only.diagnosis is not None and only.finding is None and only.diagnosis is report.diagnoses[0]
    return bool(todo) and not alone


def _first(report: RunReport, view: View, todo: list[First]) -> Markup:
    if not _shows_first(report, todo):
        return Markup("")
    frames = Frames(report, view)
    items = [el("li", *_entry(entry, report, frames)) for entry in todo]
    return lines(el("h2", _to_do(todo), id=_FIRST), el("ol", lines(*items)))


def _entry(entry: First, report: RunReport, frames: Frames) -> list[Markup]:
    parts = []
    if entry.diagnosis is not None:
        parts.append(el("p", code_in(entry.diagnosis.advice), f" ({entry.diagnosis.code})"))
    finding = entry.finding
    if finding is not None:
        sure = f" ({finding.confidence})" if is_possible(finding) else ""
        parts.append(el("p", el("strong", path_in(place(finding.location))), f" {finding.code} {finding.name}{sure}"))
        parts.append(frames.of(finding))
        said = [("instead", instead(finding.advice))]
        if finding.verdict is not None:
            said += [("seen", code_in(finding.verdict.reason)), ("price", joined(price(finding.verdict, report.run)))]
        parts.append(described(said))
    if entry.unnamed is not None:
        parts.append(el("p", el("strong", path_in(head_of(entry.unnamed, report)))))
        parts.append(frames.at(entry.unnamed.at))
        if entry.unnamed.meaning is not None:
            parts.append(described([("what", code_in(entry.unnamed.meaning))]))
    return parts


def _notes(report: RunReport) -> Markup:
    said = notes(report)
    return lines(el("h2", "Notes"), el("ul", *(el("li", code_in(note)) for note in said))) if said else Markup("")
