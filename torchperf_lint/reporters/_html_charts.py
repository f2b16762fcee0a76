"""Pictures as inline SVG, each with its content in words for those who do not see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import Phase
from torchperf_lint.reporters._html_style import LINES, PHASES
from torchperf_lint.reporters._html_tags import Markup, el, joined, lines

_WIDTH, _LEFT, _RIGHT = 900, 70, 10
_HEIGHT, _TOP, _BOTTOM = 130, 12, 22
_BAR = 44
_MOST_POINTS = 300
"""Points of one line: more than that no screen tells apart."""
_MOST_PASSES = 60
_CHARACTER = 7
"""Units of the picture that a character takes, about."""
_TICKS = (1, 2, 5)


@dataclass(frozen=True)
class Line:
    """One line of a chart."""

    name: str
    points: Sequence[tuple[float, float]]
    """(seconds, value), in the order of time."""


@dataclass(frozen=True)
class Chart:
    """Lines over the time of the run."""

    title: str
    unit: str
    """After the numbers of the axis, with its space: ` %`."""
    lines: Sequence[Line]
    top: float
    """The highest value of the axis; more than 0, see `rounded_up`."""
    end_s: float
    passes: Sequence[float] = ()
    """Moments to mark, in seconds."""


def bar(phases: Sequence[Phase], unit: str) -> Markup:
    """A step's parts side by side; their names and numbers follow in a table."""
    said = ", ".join(f"{phase.phase} {percent(phase.share)} ({ms(phase.ms)})" for phase in phases)
    parts, at = [], 0.0
    for phase in phases:
        width = phase.share * _WIDTH
        parts.append(_part(phase, at, width))
        at += width
    return _picture(f"Parts of a {unit}: {said}", _BAR, parts)


def _part(phase: Phase, at: float, width: float) -> Markup:
    # A gap of a unit keeps neighbours apart for those who see no colours.
    shape = el(
        "rect", x=_short(at), y=0, width=_short(max(width - 1, 0.5)), height=_BAR, class_=f"f-{PHASES[phase.phase]}"
    )
    label = f"{phase.phase} {percent(phase.share)}"
    if (len(label) + 2) * _CHARACTER > width:
        return shape
    return joined(shape, el("text", label, x=_short(at + _CHARACTER), y=_BAR / 2 + 4, class_="ink"))


def swatch(colour: str) -> Markup:
    """A colour beside its name."""
    square = el("rect", width=10, height=10, class_=f"f-{colour}")
    return el("svg", square, viewBox="0 0 10 10", class_="swatch", aria_hidden="true")


def chart(drawn: Chart) -> Markup:
    """A figure: the picture, and a caption that tells its lines apart and sums them up."""
    shown = [line for line in drawn.lines if line.points]
    said = "; ".join(_summed(line, drawn.unit) for line in shown)
    marked = f"; {passes_said(drawn.passes)}" if drawn.passes else ""
    parts = [_axes(drawn)]
    parts += [_line(line, drawn, number) for number, line in enumerate(shown)]
    picture = _picture(f"{drawn.title} over {_seconds(drawn.end_s)}: {said}{marked}", _HEIGHT, parts)
    legend = [joined(_dash(number), f"{_summed(line, drawn.unit)}  ") for number, line in enumerate(shown)]
    return el("figure", el("h3", drawn.title), picture, el("figcaption", *legend))


def passes_said(passes: Sequence[float]) -> str:
    """What the marks of a chart are; there is at least one."""
    times = ", ".join(_seconds(at) for at in passes[:5])
    return f"dotted upright lines: a pass over the loader began, {len(passes)} ({times}{', ...' * (len(passes) > 5)})"


def _summed(line: Line, unit: str) -> str:
    values = [value for _, value in line.points]
    mean = sum(values) / len(values)
    return f"{line.name}: {_number(mean)}{unit} on average, {_number(min(values))} to {_number(max(values))}{unit}"


def _axes(drawn: Chart) -> Markup:
    bottom = _HEIGHT - _BOTTOM
    frame = [
        el("line", x1=_LEFT, y1=y, x2=_WIDTH - _RIGHT, y2=y, class_="rim") for y in (_TOP, (_TOP + bottom) / 2, bottom)
    ]
    for value, y in ((drawn.top, _TOP + 4), (drawn.top / 2, (_TOP + bottom) / 2 + 4), (0.0, bottom + 4)):
        frame.append(el("text", f"{_number(value)}{drawn.unit}", x=_LEFT - 6, y=_short(y), text_anchor="end"))
    for at in ticks(drawn.end_s):
        where = _x(at, drawn)
        anchor = "start" if at == 0 else "end" if where > _WIDTH - 40 else "middle"
        frame.append(el("text", _seconds(at), x=_short(where), y=_HEIGHT - 4, text_anchor=anchor))
    step = max(len(drawn.passes) // _MOST_PASSES, 1)
    for at in drawn.passes[::step]:
        upright = _short(_x(at, drawn))
        frame.append(el("line", x1=upright, y1=_TOP, x2=upright, y2=bottom, class_="pass"))
    return lines(*frame)


def ticks(end_s: float) -> list[float]:
    """At most seven round moments from 0 to the end."""
    width = 0.001
    while True:
        for factor in _TICKS:
            if end_s / (width * factor) <= 6:
                step = width * factor
                return [round(number * step, 6) for number in range(int(end_s / step + 1e-9) + 1)]
        width *= 10


def rounded_up(value: float) -> float:
    """The next round number for the top of an axis; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(factor * power for factor in (1, 2, 4, 6, 8, 10, 20) if factor * power >= value)


def _line(line: Line, drawn: Chart, number: int) -> Markup:
    height = _HEIGHT - _BOTTOM - _TOP
    points = [
        f"{_short(_x(at, drawn))},{_short(_TOP + height * (1 - min(value / drawn.top, 1.0)))}"
        for at, value in thinned(line.points, _MOST_POINTS)
    ]
    if len(points) == 1:
        points *= 2
    return el("polyline", points=" ".join(points), class_=_looks(number))


def thinned(points: Sequence[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """At most so many points: each the mean of its neighbours, so that no stretch is left out."""
    if len(points) <= most:
        return list(points)
    size = -(-len(points) // most)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    return [(group[0][0], sum(value for _, value in group) / len(group)) for group in groups]


def _dash(number: int) -> Markup:
    line = el("line", x1=0, y1=5, x2=26, y2=5, stroke_width=2, class_=_looks(number))
    return el("svg", line, viewBox="0 0 26 10", class_="dash", aria_hidden="true")


def _looks(number: int) -> str:
    return f"s-{LINES[number % len(LINES)]} d{number % len(LINES)}"


def _picture(said: str, height: int, parts: Sequence[Markup]) -> Markup:
    return el("svg", lines(*parts), viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=said)


def _x(at: float, drawn: Chart) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * min(max(at / drawn.end_s, 0.0), 1.0)


def _seconds(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds / 60:.3g} min" if seconds >= 300 else f"{seconds:.3g} s"


def _number(value: float) -> str:
    """Three digits, never in powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
