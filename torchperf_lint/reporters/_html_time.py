"""Where the time went and what the machine did, as pictures with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from torchperf_lint.amounts import ms, percent, size
from torchperf_lint.bounds import Loop, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import Machine, finite, machine_of
from torchperf_lint.recorded import Moment
from torchperf_lint.reporters._html_charts import (
    MOST_MARKS,
    Chart,
    Line,
    Row,
    Stretch,
    chart,
    passes_said,
    rounded_up,
    ticks,
    track,
)
from torchperf_lint.reporters._html_steps import as_they_ran, bar, swatch
from torchperf_lint.reporters._html_style import PHASES
from torchperf_lint.reporters._html_tags import Markup, code_in, el, joined, lines, table
from torchperf_lint.reporters._requests import requests_said
from torchperf_lint.reporters._run_time import meanwhile
from torchperf_lint.run_report import RunReport
from torchperf_lint.whole_run import division_said

WHERE, OVER_TIME = "where", "over-time"
"""What links on the page call the sections."""
_MB, _GB = 1e6, 1e9
_MOST_GPUS = 4
"""Lines that are told apart in one chart."""
_NO_MOMENTS = (
    "Steps, waits and passes over time are not drawn: the record does not hold when they were (those written by an "
    "earlier version, and those of a block of a process)."
)
_APART_S = 0.5
"""Moments closer than that tell no rate: a run writes once more as it ends."""


def where_it_went(report: RunReport) -> Markup:
    """The bar of a step, and its numbers; or that no time was measured."""
    loop = loop_of(report.run)
    answered = requests_said(report.run)
    if answered is not None:
        return joined(el("h2", "Requests"), el("p", code_in(answered)), _parts(report, loop))
    return _parts(report, loop)


def _parts(report: RunReport, loop: Loop | None) -> Markup:
    if not report.breakdown or loop is None:
        return joined(el("h2", "Where the step goes", id=WHERE), el("p", _no_time(report.run)))
    rows = [
        (
            joined(swatch(PHASES[phase.phase]), phase.phase),
            percent(phase.share),
            ms(phase.ms) if phase.ms >= 0.01 else "<0.01 ms",
        )
        for phase in report.breakdown
    ]
    whole = ms(sum(phase.ms for phase in report.breakdown))
    caption = f"Host time after the warm-up, means per {loop.unit}; {whole} in all"
    divided = division_said(report.run)
    return lines(
        el("h2", f"Where the {loop.unit} goes", id=WHERE),
        el("figure", bar(report.breakdown, loop.unit)),
        el("p", f"{divided[0].upper()}{divided[1:]}.") if divided is not None else Markup(""),
        table(caption, ("part", "share", "time"), rows, numbers=2),
        as_they_ran(report),
    )


def _no_time(run: Evidence) -> str:
    if run.simulated:
        return "Not measured: on a simulated device counts are exact, and times mean nothing."
    return f"Not measured: the run was shorter than its warm-up of {run.warmup} steps, or its loop was not seen."


def over_time(run: Evidence) -> Markup:
    """GPU, CPU and disk over the run, with steps, waits and passes where the record holds them."""
    head = el("h2", "GPU, CPU and disk over time", id=OVER_TIME)
    if run.simulated:
        return joined(head, el("p", "Not shown: on a simulated device the machine does other work than it would."))
    machine = machine_of(run.utilisation)
    means = el("ul", *(el("li", f"{label}: " if label else "", code_in(text)) for label, text in meanwhile(run)))
    if not machine.record:
        return joined(head, means)
    course = _course(machine, run)
    end_s = _end(machine, course)
    charts = list(_charts(machine, run, course, end_s)) if end_s > 0 else []
    happened = list(_happened(course, run, end_s)) if end_s > 0 else []
    first = [track(happened, end_s)] if happened else []
    marks = [el("p", passes_said(charts[0].passes), class_="dim")] if charts and charts[0].passes else []
    without = [] if _started(machine) is not None and run.course else [el("p", _NO_MOMENTS, class_="dim")]
    return lines(head, means, *first, *marks, *map(chart, charts), *without, _numbers(machine))


def _course(machine: Machine, run: Evidence) -> list[Moment]:
    """The run's moments in seconds from when sampling began; those too close to tell a rate left out."""
    start = _started(machine)
    if start is None:
        return []
    return [replace(moment, at=moment.at - start) for moment in _apart(m for m in run.course if m.at >= start)]


def _rows(machine: Machine) -> list[Mapping[str, Any]]:
    return [row for row in _list(machine.record.get("course")) if isinstance(row, Mapping)]


def _end(machine: Machine, course: Sequence[Moment]) -> float:
    sampled = [_value(row, "t") or 0.0 for row in _rows(machine)]
    return max([*sampled, *(moment.at for moment in course)], default=0.0)


def _happened(course: Sequence[Moment], run: Evidence, end_s: float) -> Iterator[Row]:
    """Rows of passes, steps and synchronisations; none where the record holds no moments."""
    if len(course) < 2:
        return
    begun = [course[0], *_begun(course)]
    ends = [*(moment.at for moment in begun[1:]), course[-1].at]
    if begun[-1].passes:
        kept = list(zip(begun, ends, strict=True))[:: -(-len(begun) // MOST_MARKS)]
        passes = [Stretch(moment.at, end, f"pass {max(moment.passes, 1)}") for moment, end in kept]
        yield Row("passes over the loader", f"{begun[-1].passes}, to about a second", passes, "p5")
    noun = "steps" if run.steps else "batches"
    yield Row(noun, f"{_turns(course[-1], run):,}", list(_counted(course, run)), "p2")
    if any(moment.syncs for moment in course):
        said = f"{course[-1].syncs:,}; the darker, the more a second"
        yield Row("synchronisations", said, list(_denser(course)), "p4")


def _turns(moment: Moment, run: Evidence) -> int:
    return moment.steps if run.steps else moment.batches


def _counted(course: Sequence[Moment], run: Evidence) -> Iterator[Stretch]:
    """Stretches of as many steps each, labelled with the number of their last."""
    total = _turns(course[-1], run)
    marks = [mark for mark in ticks(float(total)) if mark > 0] if total >= 5 else []
    start = course[0].at
    for mark in [*marks, float(total)] if not marks or marks[-1] < total else marks:
        at = next(
            (
                before.at
                + (after.at - before.at) * (mark - _turns(before, run)) / (_turns(after, run) - _turns(before, run))
                for before, after in pairwise(course)
                if _turns(before, run) < mark <= _turns(after, run)
            ),
            None,
        )
        if at is not None:
            yield Stretch(start, at, f"to {mark:,.0f}")
            start = at


def _denser(course: Sequence[Moment]) -> Iterator[Stretch]:
    step = max(len(course) // MOST_MARKS, 1)
    kept = [*course[:-1:step], course[-1]]
    rates = [(after.syncs - before.syncs) / (after.at - before.at) for before, after in pairwise(kept)]
    most = max(rates)
    for (before, after), rate in zip(pairwise(kept), rates, strict=True):
        if rate > 0:
            yield Stretch(before.at, after.at, strength=rate / most)


def _charts(machine: Machine, run: Evidence, course: Sequence[Moment], end_s: float) -> Iterator[Chart]:
    rows = _rows(machine)
    passes = tuple(moment.at for moment in _begun(course))
    for title, unit, drawn, least in (
        ("GPU: share of time in which some kernel ran", " %", _gpus(rows, machine), 100.0),
        ("CPU: cores in use", "", _cpu(rows), 1.0),
        ("Disk: read", " MB/s", _disk(rows), 0.1),
        ("Memory", " GB", _memory(rows, machine), 0.1),
        (f"{'Steps' if run.steps else 'Batches'} a second", "", _rates(course, run), 0.1),
        ("Synchronisations a second", "", _syncs(course), 0.1),
    ):
        # One point is no course of anything: what it says stands among the facts.
        kept = [line for line in drawn if len(line.points) > 1]
        if kept:
            highest = max(value for line in kept for _, value in line.points)
            yield Chart(title, unit, kept, rounded_up(max(highest, least)), end_s, passes)


def _gpus(rows: Sequence[Mapping[str, Any]], machine: Machine) -> list[Line]:
    indices = [gpu.get("index") for gpu in machine.gpus][:_MOST_GPUS]
    return [_line(rows, f"GPU {index}", f"gpu.{index}.busy_share", 100.0) for index in indices]


def _cpu(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    own = _line(rows, "the script", "cpu.main_cores")
    children = _line(rows, "its children", "cpu.others_cores")
    return [own, children] if any(value for _, value in children.points) else [own]


def _disk(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    return [
        _line(rows, "the machine", "disk.read_bytes_per_s", 1 / _MB),
        _line(rows, "the script", "disk.tree_read_bytes_per_s", 1 / _MB),
    ]


def _memory(rows: Sequence[Mapping[str, Any]], machine: Machine) -> list[Line]:
    indices = [gpu.get("index") for gpu in machine.gpus][: _MOST_GPUS - 1]
    gpus = [_line(rows, f"on GPU {index}", f"gpu.{index}.memory_bytes", 1 / _GB) for index in indices]
    return [*gpus, _line(rows, "of the script and its children", "memory.tree_rss_bytes", 1 / _GB)]


def _line(rows: Sequence[Mapping[str, Any]], name: str, series: str, factor: float = 1.0) -> Line:
    pairs = [(_value(row, "t"), _value(row, series)) for row in rows]
    return Line(name, [(at, value * factor) for at, value in pairs if at is not None and value is not None])


def _rates(course: Sequence[Moment], run: Evidence) -> list[Line]:
    name = "steps" if run.steps else "batches"
    return [Line(f"{name} a second", _per_second(course, lambda moment: _turns(moment, run)))]


def _syncs(course: Sequence[Moment]) -> list[Line]:
    if not any(moment.syncs for moment in course):
        return []
    return [Line("synchronisations a second", _per_second(course, lambda moment: moment.syncs))]


def _per_second(course: Sequence[Moment], count: Callable[[Moment], int]) -> list[tuple[float, float]]:
    """Between two moments, so much a second; drawn at the later one."""
    return [
        (after.at, max(count(after) - count(before), 0) / (after.at - before.at))
        for before, after in pairwise(course)
        if after.at > before.at
    ]


def _apart(course: Iterable[Moment]) -> Iterator[Moment]:
    last: Moment | None = None
    for moment in course:
        if last is None or moment.at - last.at >= _APART_S:
            yield moment
            last = moment


def _begun(course: Sequence[Moment]) -> Iterator[Moment]:
    """The first moment within each pass over the loader but the first, which began with the run."""
    return (after for before, after in pairwise(course) if after.passes > max(before.passes, 1))


def _numbers(machine: Machine) -> Markup:
    """Every series in numbers: the pictures' alternative, and what they leave out."""
    rows = []
    for name, summary in sorted((str(name), found) for name, found in _mapping(machine.record.get("series")).items()):
        figures = [_figure(name, _value(_mapping(summary), key)) for key in ("mean", "p50", "p95", "max")]
        rows.append((name, *figures))
    if not rows:
        return Markup("")
    head = ("series", "mean", "median", "p95", "most")
    shown = table("What was sampled, over the whole run", head, rows[:100], 4)
    return el("details", el("summary", f"What was sampled, in numbers ({len(rows)} series)"), shown)


def _figure(series: str, value: float | None) -> str:
    if value is None:
        return "-"
    if series.endswith("_share"):
        return percent(value)
    if "bytes" in series:
        return f"{size(value)}{'/s' if series.endswith('_per_s') else ''}"
    return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"


def _started(machine: Machine) -> float | None:
    return _value(machine.record, "started")


def _value(row: Mapping[str, Any], key: str) -> float | None:
    """A number; what a damaged record has in place of one can be drawn nowhere."""
    return finite(row.get(key))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
