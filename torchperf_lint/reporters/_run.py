"""A run, for people: where its time went, what bounds it, what to do first, and what it says about each finding.

About a screen. Only figures that were measured are printed; `-` stands for those that were not.
"""

from __future__ import annotations

import signal
from pathlib import Path

from rich.text import Text

from torchperf_lint.amounts import ms, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.model import Diagnosis
from torchperf_lint.reporters import View
from torchperf_lint.reporters._compiling import show_compiling
from torchperf_lint.reporters._page import INDENT, Page, page
from torchperf_lint.reporters._ranks import ended_early, show_ranks
from torchperf_lint.reporters._run_findings import verdicts
from torchperf_lint.reporters._run_first import First, first, show_first
from torchperf_lint.reporters._run_time import show_breakdown, show_utilisation
from torchperf_lint.reporters._run_unnamed import unfound
from torchperf_lint.reporters._words import counted, printable, problem, signal_name
from torchperf_lint.run_report import RunReport
from torchperf_lint.stragglers import named
from torchperf_lint.untold import counts_without

_BETWEEN = " | "
_MOST_DIAGNOSES = 3
_MOST_ENTRIES = 5
_ROOM = 10
"""Columns of `measured` with the space after it."""
_SEVERAL = 1.5
"""Batches a step from which gradients are accumulated, or several loaders read; an epoch may end with a step of fewer.
"""
_SLOWED = 1.15
"""What a median of few steps may differ from the next one's by itself."""
_FULL, _LITTLE = 0.9, 0.5
"""From this share of the machine's time on it is busy, and up to this share of the cores that is not the script."""
_EXACT = "simulated device: counts are exact, times are not measured"
_PARTIAL = "simulated device: counts may lack something (see below), times are not measured"


def render_run(report: RunReport, view: View) -> str:
    """The page; with `view.quiet`, only what to do first and the verdicts."""
    sheet = page(view)
    todo = first(report)
    if not view.quiet:
        _header(sheet, report)
        show_breakdown(sheet, report)
        show_compiling(sheet, report.run)
        show_utilisation(sheet, report.run)
        show_ranks(sheet, report.run)
        _diagnoses(sheet, report, todo)
    show_first(sheet, report, todo)
    verdicts(sheet, report)
    if not view.quiet:
        unfound(sheet, report, [entry.unnamed.entry for entry in todo if entry.unnamed is not None])
        _notes(sheet, report)
    return sheet.text.lstrip("\n")


def _header(sheet: Page, report: RunReport) -> None:
    """One line, or as many as its parts need."""
    line = Text(printable(report.script), style="bold")
    for part in map(printable, facts(report.run)):
        if line.cell_len + len(_BETWEEN) + len(part) <= sheet.width:
            line = Text.assemble(line, (_BETWEEN, "dim"), part)
            continue
        *before, line = [line, *sheet.wrapped(Text(part), sheet.width)]
        for full in before:
            sheet.line(full)
    sheet.line(line)


def facts(run: Evidence) -> list[str]:
    """On what it ran, how far it came, how long a step took, and how it ended."""
    facts = [device_of(run)]
    if run.torch is not None:
        facts.append(f"torch {run.torch}")
    if len(run.ranks) > 1:
        facts.append(ranks_of(run))
    facts.append(steps_of(run))
    if run.step_ms is not None and not run.simulated:
        slowest = ", the slowest rank" if len(run.ranks) > 1 else ""
        facts.append(f"median {ms(run.step_ms.median)} a step, p95 {ms(run.step_ms.p95)}{slowest}")
    answered = run.requests
    if answered is not None and answered.ms is not None and not run.simulated:
        facts.append(f"median {ms(answered.ms.median)} a {answered.unit}, p95 {ms(answered.ms.p95)}")
    return [*facts, *end_of(run)]


def ranks_of(run: Evidence) -> str:
    """How many, and on how many machines if on several."""
    return counted(len(run.ranks), "rank") + (f" on {counted(run.nodes, 'node')}" if run.nodes > 1 else "")


def device_of(run: Evidence) -> str:
    """The device, or that there was none, or what a simulated one can tell."""
    if run.simulated:
        lacking = any(e.kind == "unsupported" and not counts_without(e.what) for e in run.events)
        return _PARTIAL if lacking else _EXACT
    return run.device if run.device is not None else "no CUDA device"


def steps_of(run: Evidence) -> str:
    """How far it came, in steps (and how many batches each has, where these are several), or batches, or requests."""
    if run.steps:
        batches = run.train_batches / run.steps
        return counted(run.steps, "step") + (f" of {batches:.2g} batches" if batches >= _SEVERAL else "")
    if run.requests is not None:
        return counted(run.requests.count, run.requests.unit)
    batches = run.train_batches + run.eval_batches
    return f"no training step, {batches} batch{'' if batches == 1 else 'es'}"


def end_of(run: Evidence) -> list[str]:
    """How it ended, unless well."""
    if run.in_process:
        raised = run.state.get("raised")
        return [f"ended by {raised}"] if raised else []
    code = run.returncode
    if code is None:
        return ["how it ended was not recorded"]
    why = f": {run.raised}" if code == 1 and run.raised else ""
    return [_ended_by(code) + _elsewhere(run, code) + why] if code else []


def _ended_by(code: int) -> str:
    return f"killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"


def _elsewhere(run: Evidence, code: int) -> str:
    """The rank that failed, where this one was told to stop: so launchers end the others."""
    failed = [r for r in run.ranks if r.returncode not in (None, 0, code)] if code == -signal.SIGTERM else []
    return f" ({named(failed[0])}: {_ended_by(failed[0].returncode or 0)})" if failed else ""


def _diagnoses(sheet: Page, report: RunReport, todo: list[First]) -> None:
    if not report.diagnoses:
        return
    advised = {entry.diagnosis for entry in todo}
    sheet.heading("What bounds it")
    for diagnosis in report.diagnoses[:_MOST_DIAGNOSES]:
        _diagnosis(sheet, diagnosis, with_advice=diagnosis not in advised)
    more = [diagnosis.code for diagnosis in report.diagnoses[_MOST_DIAGNOSES:]]
    if more:
        sheet.paragraph("", f"and {len(more)} more: {', '.join(more)}")


def _diagnosis(sheet: Page, diagnosis: Diagnosis, with_advice: bool) -> None:
    sheet.paragraph(diagnosis.code, diagnosis.title, "bold", room=_ROOM)
    sheet.paragraph("measured", diagnosis.evidence, room=_ROOM)
    if with_advice:
        sheet.paragraph("advice", diagnosis.advice, room=_ROOM)


def _notes(sheet: Page, report: RunReport) -> None:
    said = notes(report)
    if said:
        sheet.heading("Notes")
    for note in said:
        sheet.paragraph("", note, indent=INDENT)


def notes(report: RunReport) -> list[str]:
    """What limits the report, each in a line or two."""
    notes = _unsupported(report.run) + _crowded(report.run) + _profiled(report.run) + _incomplete(report)
    notes += [problem(entry) for entry in report.report.problems[:_MOST_ENTRIES]]
    if len(report.report.problems) > _MOST_ENTRIES:
        notes.append(f"and {counted(len(report.report.problems) - _MOST_ENTRIES, 'more problem')}")
    if report.record is not None:
        notes.append(f"the record: {report.record}{_others(report)} (judge it again with --report)")
    return notes


def _others(report: RunReport) -> str:
    """Files in other places than the record, which does not stand for them."""
    places = {Path(run.path).resolve().parent for run in report.runs}
    return f" and those of {counted(len(places) - 1, 'other folder')}" if len(places) > 1 else ""


def _unsupported(run: Evidence) -> list[str]:
    """Calls that the simulation could not do as a device would."""
    found: dict[str, list[str]] = {}
    for event in run.events:
        if event.kind == "unsupported":
            found.setdefault(event.what, []).append(f"{event.path}:{event.line}" if event.path else "an unknown line")
    notes = [
        f"the simulation cannot do this: {what} ({_listed(sorted(set(at)))})" for what, at in sorted(found.items())
    ]
    return _listed_notes(notes)


def _listed_notes(notes: list[str]) -> list[str]:
    left = len(notes) - _MOST_ENTRIES
    return [*notes[:_MOST_ENTRIES], f"and {left} more that the simulation cannot do"] if left > 0 else notes


def _crowded(run: Evidence) -> list[str]:
    """Where others had the cores, times and what follows from them are not those of a quiet machine."""
    machine = machine_of(run.utilisation)
    busy, main = machine.mean("cpu.machine_share"), machine.mean("cpu.main_cores")
    if run.simulated or busy is None or main is None or machine.cores is None:
        return []
    used = main + (machine.mean("cpu.others_cores") or 0.0)
    if busy < _FULL or used > _LITTLE * machine.cores:
        return []
    return [
        f"other programs kept the machine busy ({percent(busy)}, while the script used {used:.2f} of "
        f"{machine.cores:g} cores): times are longer than on a quiet machine"
    ]


def _profiled(run: Evidence) -> list[str]:
    """What the window took of the run, which is in no other figure."""
    window = run.window
    if window is None or run.simulated:
        return []
    own = f", and starting, ending and reading it {ms(window.own_ms)}" if window.own_ms is not None else ""
    notes = [f"profiled: {counted(window.left_out, 'step')}, which count in no time{own}"]
    if run.slowed is not None and run.slowed >= _SLOWED:
        notes.append(
            f"steps after the profiled ones take {run.slowed:.1f} times as long as those before: where CUPTI, which "
            "profiles, stays attached (before CUDA 12.6), each call of CUDA costs more; `--window 0` gives times "
            "without it"
        )
    return notes


def _incomplete(report: RunReport) -> list[str]:
    run = report.run
    notes = []
    if report.changed:
        notes.append(f"changed since it ran, so not judged: {_listed(list(report.changed))}")
    if run.missing_ranks:
        missing = f"rank{'s' * (len(run.missing_ranks) > 1)} {_listed(list(map(str, run.missing_ranks)))}"
        # What one node can see is not all: its ranks may wait in backward for one that is elsewhere.
        elsewhere = any(rank.node is not None for rank in run.ranks)
        merge = "; give --report the files of all nodes, in which who waits for whom can be seen" if elsewhere else ""
        notes.append(f"no record of {missing}{merge}")
    notes += ended_early(run)
    if run.torn:
        notes.append("the record ends in the middle of a line: what was seen in the last second may be missing")
    if run.unwatched:
        notes.append(f"not watched: {_by_reason(run)}")
    return notes


def _by_reason(run: Evidence) -> str:
    probes: dict[str, list[str]] = {}
    for name, why in sorted(run.unwatched.items()):
        probes.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(names)} ({why})" for why, names in probes.items())


def _listed(names: list[str]) -> str:
    left = len(names) - _MOST_ENTRIES
    return ", ".join(names[:_MOST_ENTRIES]) + (f" and {left} more" if left > 0 else "")
