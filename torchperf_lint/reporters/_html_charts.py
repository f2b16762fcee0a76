"""Pictures over time as inline SVG, each with its content in words for those who do not see it.

Positions along a picture are percent of its width and heights are pixels, so that text keeps its size on any screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10

from torchperf_lint.reporters._html_style import LINES
from torchperf_lint.reporters._html_tags import Markup, el, joined, lines

_TOP, _HEIGHT, _AXIS = 16, 84, 20
"""Pixels above the lines, of the lines, and of what stands below them."""
_ROW = 22
"""Pixels of a row of the track."""
_DETAIL = 1000
"""Units of a line's own width; its height has 100."""
_MOST_POINTS = 300
"""Points of one line: more than that no screen tells apart."""
MOST_MARKS = 60
"""Upright lines of one chart, and cells of a row."""
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


@dataclass(frozen=True)
class Stretch:
    """A part of a row of the track."""

    start_s: float
    end_s: float
    label: str = ""
    """Shown where there is room."""
    strength: float = 1.0
    """How dark, 0 to 1."""


@dataclass(frozen=True)
class Row:
    """One row of the track: what happened when."""

    name: str
    said: str
    """Its content in words."""
    stretches: Sequence[Stretch]
    colour: str


def track(rows: Sequence[Row], end_s: float) -> Markup:
    """A figure of rows over the same time as the charts."""
    parts = [_row(row, number, end_s) for number, row in enumerate(rows)]
    height = 2 * _ROW * len(rows)
    said = "; ".join(f"{row.name}: {row.said}" for row in rows)
    picture = _picture(
        f"What happened when, over {_seconds(end_s)}: {said}", height + _AXIS, [*parts, _axis(end_s, height)]
    )
    return el("figure", el("h3", "What happened when"), picture)


def _row(row: Row, number: int, end_s: float) -> Markup:
    top = 2 * _ROW * number
    parts = [el("text", f"{row.name}: {row.said}", x=0, y=top + _ROW - 6)]
    for stretch in row.stretches:
        width = max(share(stretch.end_s - stretch.start_s, end_s) - 0.1, 0.1)
        shape = {"x": percents(share(stretch.start_s, end_s)), "width": percents(width)}
        strength = short(max(stretch.strength, 0.05)) if stretch.strength < 1 else None
        parts.append(
            el("rect", **shape, y=top + _ROW, height=_ROW - 4, class_=f"f-{row.colour}", fill_opacity=strength)
        )
        if len(stretch.label) * 1.1 < width:
            at = share(stretch.start_s + (stretch.end_s - stretch.start_s) / 2, end_s)
            roomy = "ink roomy" if len(stretch.label) * 2.4 > width else "ink"
            parts.append(el("text", stretch.label, x=percents(at), y=top + 2 * _ROW - 9, class_=f"{roomy} mid"))
    return lines(*parts)


def chart(drawn: Chart) -> Markup:
    """A figure: the picture, and a caption that tells its lines apart and sums them up."""
    shown = [line for line in drawn.lines if line.points]
    said = "; ".join(_summed(line, drawn.unit) for line in shown)
    marked = f"; {passes_said(drawn.passes)}" if drawn.passes else ""
    curves = el(
        "svg",
        lines(*(_line(line, drawn, number) for number, line in enumerate(shown))),
        viewBox=f"0 0 {_DETAIL} 100",
        preserveAspectRatio="none",
        y=_TOP,
        width="100%",
        height=_HEIGHT,
        aria_hidden="true",
    )
    height = _TOP + _HEIGHT + _AXIS
    about = f"{drawn.title} over {_seconds(drawn.end_s)}: {said}{marked}"
    picture = _picture(about, height, [_grid(drawn), curves, _values(drawn), _axis(drawn.end_s, _TOP + _HEIGHT)])
    legend = [el("span", _dash(number), _summed(line, drawn.unit)) for number, line in enumerate(shown)]
    return el("figure", el("h3", drawn.title), picture, el("figcaption", *legend))


def passes_said(passes: Sequence[float]) -> str:
    """What the marks of a chart are; there is at least one."""
    times = ", ".join(_seconds(at) for at in passes[:5])
    return f"dotted upright lines: a pass over the loader began, {len(passes)} ({times}{', ...' * (len(passes) > 5)})"


def _summed(line: Line, unit: str) -> str:
    values = [value for _, value in line.points]
    mean = sum(values) / len(values)
    return f"{line.name}: {_number(mean)}{unit} on average, {_number(min(values))} to {_number(max(values))}{unit}"


def _grid(drawn: Chart) -> Markup:
    frame = [el("line", x1=0, y1=y, x2="100%", y2=y, class_="rim") for y in (_TOP, _TOP + _HEIGHT // 2)]
    step = max(-(-len(drawn.passes) // MOST_MARKS), 1)
    for at in drawn.passes[::step]:
        upright = percents(share(at, drawn.end_s))
        frame.append(el("line", x1=upright, y1=_TOP, x2=upright, y2=_TOP + _HEIGHT, class_="pass"))
    return lines(*frame)


def _values(drawn: Chart) -> Markup:
    """The axis of values; drawn last, so that no line crosses a number."""
    at = ((drawn.top, _TOP), (drawn.top / 2, _TOP + _HEIGHT // 2))
    return lines(*(el("text", f"{_number(value)}{drawn.unit}", x=0, y=y - 3) for value, y in at))


def _axis(end_s: float, y: int) -> Markup:
    """The time from the start, in seconds or what is readable, below what is drawn over it."""
    frame = [el("line", x1=0, y1=y, x2="100%", y2=y, class_="rim")]
    for at in ticks(end_s):
        where = share(at, end_s)
        anchor = "start" if at == 0 else "end" if where > 94 else "middle"
        label = "0 s from the start" if at == 0 else _seconds(at)
        if at == 0 or where > 15:
            crowded = "roomy" if 0 < where < 42 else None
            frame.append(el("text", label, x=percents(where), y=y + 15, text_anchor=anchor, class_=crowded))
        frame.append(el("line", x1=percents(where), y1=y, x2=percents(where), y2=y + 4, class_="rim"))
    return lines(*frame)


def ticks(end_s: float) -> list[float]:
    """At most six round moments from 0 to the end."""
    width = 0.001
    while True:
        for factor in _TICKS:
            if end_s / (width * factor) <= 5:
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
    points = [
        f"{short(share(at, drawn.end_s) * _DETAIL / 100)},{short(100 * (1 - min(max(value / drawn.top, 0), 1.0)))}"
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
    return el("svg", joined(*parts), height=height, role="img", aria_label=said)


def share(part: float, whole: float) -> float:
    """Percent, 0 to 100."""
    return 100 * min(max(part / whole, 0.0), 1.0)


def percents(value: float) -> str:
    """A length along a picture."""
    return f"{value:.2f}".rstrip("0").rstrip(".") + "%"


def short(value: float) -> str:
    """One decimal, where it is one."""
    return f"{value:.1f}".removesuffix(".0")


def _seconds(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.3g} h"
    return f"{seconds / 60:.3g} min" if seconds >= 300 else f"{seconds:.3g} s"


def _number(value: float) -> str:
    """Three digits, never in powers of ten."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
