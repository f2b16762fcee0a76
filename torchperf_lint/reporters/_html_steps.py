"""A step as a picture: its parts side by side, and the first steps after the warm-up as they ran."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import Phase, loop_of, part_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.reporters._html_charts import percents, rounded_up, share, ticks
from torchperf_lint.reporters._html_style import PHASES
from torchperf_lint.reporters._html_tags import Markup, el, joined, lines
from torchperf_lint.reporters._words import counted
from torchperf_lint.run_report import RunReport
from torchperf_lint.spans import Instant, Sample, Span, Turn

_BAR, _AXIS = 44, 20
_NAME, _STEP, _GAP = 16, 18, 8
"""Pixels of a step's name, of its bar, and below it."""
_SHOWN = 8
"""Steps that are drawn."""
_RANKS = 4
_MOST_MARKS = 400
_MOST_SPANS = 1600
_SHOWN_KINDS = ("sync", "copy")
_CHARACTER = 0.95
"""Percent of a wide picture that a character takes; of a narrow one it is some three times that."""


def bar(phases: Sequence[Phase], unit: str) -> Markup:
    """A step's parts side by side, over an axis of milliseconds; their names and numbers follow in a table."""
    said = ", ".join(f"{phase.phase} {percent(phase.share)} ({ms(phase.ms)})" for phase in phases)
    whole = sum(phase.ms for phase in phases)
    parts, at = [], 0.0
    for phase in phases:
        parts.append(_part(phase, at))
        at += phase.share * 100
    return _picture(f"Parts of a {unit}: {said}", _BAR + _AXIS, [*parts, _axis(whole, _BAR)])


def _part(phase: Phase, at: float) -> Markup:
    width = phase.share * 100
    # A gap keeps neighbours apart for those who see no colours.
    shape = _rect(PHASES[phase.phase], at, width, 0, _BAR, f"{phase.phase}: {ms(phase.ms)}, {percent(phase.share)}")
    label = f"{phase.phase} {percent(phase.share)}"
    if len(label) * _CHARACTER + 1 > width:
        return shape
    roomy = "ink roomy" if len(label) * 3 * _CHARACTER > width else "ink"
    return joined(shape, el("text", label, x=percents(at + 0.8), y=_BAR // 2 + 4, class_=roomy))


def _rect(colour: str, at: float, width: float, top: int, height: int, said: str) -> Markup:
    place = {"x": percents(at), "width": percents(max(width - 0.12, 0.08)), "y": top, "height": height}
    return el("g", el("title", said), el("rect", **place, class_=f"f-{colour}"))


def _axis(whole_ms: float, y: int) -> Markup:
    marks = []
    for at in ticks(whole_ms) if whole_ms > 0.002 else ():
        where = share(at, whole_ms)
        anchor = "start" if at == 0 else "end" if where > 94 else "middle"
        marks.append(el("line", x1=percents(where), y1=y, x2=percents(where), y2=y + 4, class_="rim"))
        marks.append(el("text", f"{at:g} ms", x=percents(where), y=y + 16, text_anchor=anchor))
    return lines(*marks)


def swatch(colour: str) -> Markup:
    """A colour beside its name."""
    square = el("rect", width=10, height=10, class_=f"f-{colour}")
    return el("svg", square, viewBox="0 0 10 10", class_="swatch", aria_hidden="true")


def as_they_ran(report: RunReport) -> Markup:
    """The first steps after the warm-up, each mark at its time; nothing where the record keeps none."""
    chosen = _chosen(report.run.samples)
    top = max((turn.end_us - turn.start_us for _, turn in chosen), default=0.0) / 1000
    if top <= 0 or report.run.simulated:
        return Markup("")
    unit = _unit(report.run)
    whole = rounded_up(top) if rounded_up(top) <= 1.25 * top else top
    rows = [_row(turn, number, sample, unit, whole) for number, (sample, turn) in enumerate(chosen)]
    height = len(chosen) * (_NAME + _STEP + _GAP)
    first, last = chosen[0][1].number, chosen[-1][1].number
    said = f"{unit} {first}" if first == last else f"{unit}s {first} to {last}"
    times = ", ".join(_named(sample, turn, unit) for sample, turn in chosen)
    picture = _picture(f"{said}, in the order of time: {times}", height + _AXIS, [*rows, _axis(whole, height)])
    return el("figure", el("h3", f"{said.capitalize()} as they ran"), picture, _legend(report.run, chosen[0][0]))


def _chosen(samples: Sequence[Sample]) -> list[tuple[Sample, Turn]]:
    """The first steps; of several ranks, each step on every rank, so that one sees who waits for whom."""
    ranks = samples[:_RANKS]
    chosen = [(sample, turn) for sample in ranks for turn in sample.turns[: _SHOWN // len(ranks)]]
    return sorted(chosen, key=lambda entry: entry[1].number)


def _named(sample: Sample, turn: Turn, unit: str) -> str:
    rank = f", rank {sample.rank}" if sample.rank is not None else ""
    return f"{unit} {turn.number}{rank}: {ms((turn.end_us - turn.start_us) / 1000)}"


def _unit(run: Evidence) -> str:
    loop = loop_of(run)
    return loop.unit if loop is not None else "step" if run.steps else "batch"


def _legend(run: Evidence, sample: Sample) -> Markup:
    kept = f"The record keeps the first {counted(len(sample.turns), _unit(run))} after the warm-up; "
    told = "host time, in the colours of the parts above."
    marks = " The lower half of a bar: the host waited for the device. Upright marks: synchronisations and copies."
    shown = any(instant.kind in _SHOWN_KINDS for instant in sample.instants)
    return el("figcaption", kept, told, marks if shown else "")


def _row(turn: Turn, number: int, sample: Sample, unit: str, whole_ms: float) -> Markup:
    top = number * (_NAME + _STEP + _GAP)
    name = el("text", _named(sample, turn, unit), x=0, y=top + _NAME - 4)
    at = top + _NAME
    spans = [span for span in sample.spans if _within(span.start_us, turn)][: _MOST_SPANS // _SHOWN]
    bars = [_span(span, turn, at, unit, whole_ms) for span in spans]
    instants = [i for i in sample.instants if i.kind in _SHOWN_KINDS and turn.start_us < i.at_us <= turn.end_us]
    marks = [mark for instant in instants[: _MOST_MARKS // _SHOWN] for mark in _marks(instant, turn, at, whole_ms)]
    return lines(name, *bars, *marks)


def _within(at_us: float, turn: Turn) -> bool:
    return turn.start_us <= at_us < turn.end_us


def _span(span: Span, turn: Turn, top: int, unit: str, whole_ms: float) -> Markup:
    part = part_of(span.phase, unit)
    begins, ends = (line(*(place or (None, None))) for place in (span.begins, span.ends))
    where = f", {begins} to {ends}" if span.begins or span.ends else ""
    start = share((span.start_us - turn.start_us) / 1000, whole_ms)
    said = f"{span.phase}: {ms(span.us / 1000)}{where}"
    return _rect(PHASES[part], start, share(span.us / 1000, whole_ms), top, _STEP, said)


def _marks(instant: Instant, turn: Turn, top: int, whole_ms: float) -> Iterator[Markup]:
    end = share((instant.at_us - turn.start_us) / 1000, whole_ms)
    said = f"{instant.kind} ({instant.what}), {line(*(instant.place or (None, None)))}"
    if instant.us is not None:
        start = share((max(instant.at_us - instant.us, turn.start_us) - turn.start_us) / 1000, whole_ms)
        half = top + _STEP // 2
        colour = PHASES["waiting for the device"]
        yield _rect(colour, start, end - start, half, _STEP // 2, f"{said}: held the host up {ms(instant.us / 1000)}")
    mark = el("line", x1=percents(end), x2=percents(end), y1=top - 3, y2=top + 5, class_="event")
    yield el("g", el("title", said), mark)


def _picture(said: str, height: int, parts: Sequence[Markup]) -> Markup:
    return el("svg", lines(*parts), height=height, role="img", aria_label=said)
