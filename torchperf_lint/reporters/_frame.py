"""A few lines of source with a span underlined, as they fit a terminal.

Columns of the source are code points; columns on screen are cells: a tab is four, a wide character two, a
combining one none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from rich.cells import cell_len

from torchperf_lint.model import Location
from torchperf_lint.reporters._words import printable

_TAB = "    "
_CUT = "..."
_MOST_LINES = 4
"""A longer span is shown by its first two lines and its last."""


@dataclass(frozen=True)
class Row:
    """One line of a frame; `number` is None for marks and for lines left out."""

    number: int | None
    text: str
    marks: str = ""
    """Spaces and carets to print below the text; empty for a line of context."""


@dataclass(frozen=True)
class _Window:
    """The cells of every line that are shown."""

    start: int
    width: int


def frame(lines: Sequence[str], at: Location, width: int, context: int = 1) -> list[Row]:
    """The rows that show `at` in at most `width` cells; empty where the source is shorter than that by now."""
    if not 1 <= at.line <= len(lines):
        return []
    last = min(max(at.end_line, at.line), len(lines))
    window = _window(lines, at, last, width)
    rows: list[Row] = []
    for number in _numbers(at.line, last, context, len(lines)):
        if number is None:
            rows.append(Row(None, _CUT))
            continue
        line = lines[number - 1]
        marked = at.line <= number <= last
        marks = _marks(line, *_span(line, number, at, last), window) if marked else ""
        text = _crop(line, window)
        if text or marked:
            rows.append(Row(number, text, marks))
    return rows


def _numbers(first: int, last: int, context: int, total: int) -> list[int | None]:
    inside: list[int | None] = list(range(first, last + 1))
    if len(inside) > _MOST_LINES:
        inside = [first, first + 1, None, last]
    before = range(max(1, first - context), first)
    after = range(last + 1, min(total, last + context) + 1)
    return [*before, *inside, *after]


def _span(line: str, number: int, at: Location, last: int) -> tuple[int, int]:
    """The marked code points of a line, 0-based, end exclusive."""
    indent = len(line) - len(line.lstrip())
    start = max(at.column - 1, indent) if number == at.line else indent
    end = at.end_column - 1 if number == at.end_line == last else len(line.rstrip())
    start = max(0, min(start, len(line)))
    return start, max(start, min(end, len(line)))


def _shown(char: str) -> str:
    return _TAB if char == "\t" else printable(char)


def _offsets(line: str) -> Sequence[int]:
    """The cell at which each code point begins, and where the line ends."""
    if line.isascii() and line.isprintable():
        return range(len(line) + 1)
    return list(accumulate((cell_len(_shown(char)) for char in line), initial=0))


def _window(lines: Sequence[str], at: Location, last: int, width: int) -> _Window:
    line = lines[at.line - 1]
    offsets = _offsets(line)
    start, end = (offsets[position] for position in _span(line, at.line, at, last))
    if end <= width - len(_CUT) or offsets[-1] <= width:
        return _Window(0, width)
    return _Window(max(0, min(start - width // 4, offsets[-1] - width)), width)


def cropped(line: str, at: int, width: int) -> str:
    """A line in at most `width` cells, so that what follows the code point `at`, 0-based, is seen."""
    offsets = _offsets(line)
    near = offsets[min(at, len(line))]
    if offsets[-1] <= width or near <= width // 2:
        return _crop(line, _Window(0, width))
    return _crop(line, _Window(max(0, min(near - width // 4, offsets[-1] - width)), width))


def _crop(line: str, window: _Window) -> str:
    offsets = _offsets(line)
    cut_left = window.start > 0
    cut_right = offsets[-1] > window.start + window.width
    first = window.start + len(_CUT) * cut_left
    final = window.start + window.width - len(_CUT) * cut_right
    near = range(max(0, bisect_right(offsets, first) - 1), min(len(line), bisect_left(offsets, final)))
    inside = "".join(_part(line[n], offsets[n], first, final) for n in near)
    left = _CUT if cut_left and offsets[-1] > window.start else ""
    return (left + inside + _CUT * cut_right).rstrip()


def _part(char: str, begins: int, first: int, final: int) -> str:
    """What is seen of a character between two cells; half a wide one or a tab is a space."""
    shown = _shown(char)
    ends = begins + cell_len(shown)
    if first <= begins and ends <= final:
        return shown
    return " " * max(0, min(ends, final) - max(begins, first))


def _marks(line: str, start: int, end: int, window: _Window) -> str:
    offsets = _offsets(line)
    begins = offsets[start] - window.start
    ends = max(offsets[end] - window.start, begins + 1)
    begins, ends = max(0, begins), min(ends, window.width)
    return " " * begins + "^" * (ends - begins) if ends > begins else ""
