"""Where the time went and what the machine did, as pictures with their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from typing import Any

from torchperf_lint.amounts import ms, percent, size
from torchperf_lint.bounds import Loop, loop_of
from torchperf_lint.evidence import Evidence, Moment
from torchperf_lint.machine import Machine, machine_of
from torchperf_lint.reporters._html_charts import Chart, Line, bar, chart, passes_said, rounded_up, swatch
from torchperf_lint.reporters._html_style import PHASES
from torchperf_lint.reporters._html_tags import Markup, code_in, el, joined, lines, table
from torchperf_lint.reporters._requests import requests_said
from torchperf_lint.reporters._run_time import meanwhile
from torchperf_lint.run_report import RunReport

_MB = 1e6
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
        return joined(el("h2", "Where the step goes"), el("p", _no_time(report.run)))
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
    return lines(
        el("h2", f"Where the {loop.unit} goes"),
        el("figure", bar(report.breakdown, loop.unit)),
        table(caption, ("part", "share", "time"), rows, numbers=2),
    )


def _no_time(run: Evidence) -> str:
    if run.simulated:
        return "Not measured: on a simulated device counts are exact, and times mean nothing."
    return f"Not measured: the run was shorter than its warm-up of {run.warmup} steps, or its loop was not seen."


def over_time(run: Evidence) -> Markup:
    """GPU, CPU and disk over the run, with steps, waits and passes where the record holds them."""
    head = el("h2", "GPU, CPU and disk over time")
    if run.simulated:
        return joined(head, el("p", "Not shown: on a simulated device the machine does other work than it would."))
    machine = machine_of(run.utilisation)
    means = el("ul", *(el("li", f"{label}: " if label else "", code_in(text)) for label, text in meanwhile(run)))
    if not machine.record:
        return joined(head, means)
    charts = list(_charts(machine, run))
    marks = [el("p", passes_said(charts[0].passes), class_="dim")] if charts and charts[0].passes else []
    without = [] if _started(machine) is not None and run.course else [el("p", _NO_MOMENTS, class_="dim")]
    return lines(head, means, *marks, *map(chart, charts), *without, _numbers(machine))


def _charts(machine: Machine, run: Evidence) -> Iterator[Chart]:
    rows = [row for row in _list(machine.record.get("course")) if isinstance(row, Mapping)]
    start = _started(machine)
    course = [] if start is None else list(_apart(moment for moment in run.course if moment.at >= start))
    end_s = max([_value(row, "t") or 0.0 for row in rows] + [m.at - (start or 0.0) for m in course], default=0.0)
    if end_s <= 0:
        return
    passes = tuple(moment.at - (start or 0.0) for moment in _begun(course))
    for title, unit, drawn, least in (
        ("GPU: share of time in which some kernel ran", " %", _gpus(rows, machine), 100.0),
        ("CPU: cores in use", "", _cpu(rows), 1.0),
        ("Disk: read", " MB/s", _disk(rows), 0.1),
        (f"{'Steps' if run.steps else 'Batches'} a second", "", _rates(course, start, run), 0.1),
        ("Synchronisations a second", "", _syncs(course, start), 0.1),
    ):
        kept = [line for line in drawn if line.points]
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


def _line(rows: Sequence[Mapping[str, Any]], name: str, series: str, factor: float = 1.0) -> Line:
    pairs = [(_value(row, "t"), _value(row, series)) for row in rows]
    return Line(name, [(at, value * factor) for at, value in pairs if at is not None and value is not None])


def _rates(course: Sequence[Moment], start: float | None, run: Evidence) -> list[Line]:
    if run.steps:
        return [Line("steps a second", _per_second(course, start, lambda moment: moment.steps))]
    return [Line("batches a second", _per_second(course, start, lambda moment: moment.batches))]


def _syncs(course: Sequence[Moment], start: float | None) -> list[Line]:
    if not any(moment.syncs for moment in course):
        return []
    return [Line("synchronisations a second", _per_second(course, start, lambda moment: moment.syncs))]


def _per_second(
    course: Sequence[Moment], start: float | None, count: Callable[[Moment], int]
) -> list[tuple[float, float]]:
    """Between two moments, so much a second; drawn at the later one."""
    return [
        (after.at - (start or 0.0), max(count(after) - count(before), 0) / (after.at - before.at))
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
    return table("What was sampled, over the whole run", ("series", "mean", "median", "p95", "most"), rows[:100], 4)


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
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if isfinite(value) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()
