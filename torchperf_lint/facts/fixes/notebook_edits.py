"""Edits of a notebook's Python, put into the cells of its JSON; everything else stays as it is, byte for byte.

A cell's source is a string or a list of strings, most often one a line: strings that do not change are kept as
they are written, others are written in the same style.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchperf_lint.errors import CannotFix
from torchperf_lint.facts.files import notebook
from torchperf_lint.facts.syntax.text import NEWLINE
from torchperf_lint.model import Edit
from torchperf_lint.patterns import pattern

_NEWLINE = pattern(NEWLINE)
_SPACE = pattern(r"[ \t\n\r]*")
_LINE = pattern(rf"[^\r\n]*(?:{NEWLINE})|[^\r\n]+")
_DECODER = json.JSONDecoder()


class _Span(NamedTuple):
    """Where a JSON value stands."""

    start: int
    end: int


def rewritten(raw: str, edits: Sequence[Edit]) -> str:
    """The notebook `raw` with edits of the Python that `notebook.to_source` makes of it.

    Raises CannotFix where an edit reaches over cells or into a line that is IPython's and not Python.
    """
    held = notebook.to_source(raw)
    spans = [span for span in _sources(raw) if span is not None]
    cells = notebook.code_cells(raw)
    if len(spans) != len(cells):
        raise CannotFix("the cells of the notebook cannot be told apart")
    by_cell: dict[int, list[Edit]] = {}
    for edit in edits:
        index, local = _in_cell(held, cells, edit)
        by_cell.setdefault(index, []).append(local)
    done = raw
    for index in sorted(by_cell, reverse=True):
        cell = _edited(cells[index], by_cell[index])
        done = done[: spans[index].start] + _written(raw, spans[index], cell) + done[spans[index].end :]
    return done


def _edited(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _in_cell(held: notebook.NotebookSource, cells: Sequence[str], edit: Edit) -> tuple[int, Edit]:
    """Index of the cell, and the edit in its text."""
    starts = _line_starts(held.text)
    cell = held.locate(bisect_right(starts, edit.start))[0]
    begin = starts[held.starts[cell - 1] - 1]
    after = starts[held.starts[cell] - 1] if cell < len(held.starts) else len(held.text)
    if edit.end > after:
        raise CannotFix("it reaches over cells of the notebook")
    start, end = _as_written(held.text[begin:after], cells[cell - 1], edit.start - begin, edit.end - begin)
    return cell - 1, Edit(start, end, edit.text)


def _as_written(python: str, source: str, start: int, end: int) -> tuple[int, int]:
    """Offsets into a cell's Python as offsets into what the author wrote: the same but in lines of IPython."""
    starts, written = _line_starts(python), _line_starts(source)
    first, last = bisect_right(starts, start), bisect_right(starts, end)
    for line in range(first, last + 1):
        untouched = line == last > first and starts[line - 1] == end
        if not untouched and _line(python, starts, line) != _line(source, written, line):
            raise CannotFix("it is in a line that is not Python")
    places = ((first, start), (last, end))
    # What Python has behind the author's last line is the newline that every cell is given.
    begin, stop = (
        written[line - 1] + offset - starts[line - 1] if line <= len(written) else len(source)
        for line, offset in places
    )
    return begin, min(stop, len(source))


def _line_starts(text: str) -> list[int]:
    return [0, *(newline.end() for newline in _NEWLINE.finditer(text))]


def _line(text: str, starts: list[int], line: int) -> str:
    if line > len(starts):
        return ""
    return text[starts[line - 1] : starts[line] if line < len(starts) else len(text)].rstrip("\r\n")


# -- JSON, with places -----------------------------------------------------------------------------------


def _sources(raw: str) -> Iterator[_Span | None]:
    """Where the source of each cell stands; None for cells that are no code."""
    cells = dict(_members(raw, _over_space(raw, 0)))["cells"]
    for cell in _elements(raw, cells.start):
        if notebook.is_code(_DECODER.raw_decode(raw, cell.start)[0]):
            yield dict(_members(raw, cell.start))["source"]
        else:
            yield None


def _members(raw: str, start: int) -> Iterator[tuple[str, _Span]]:
    """Key and place of each value of the object at `start`."""
    at = _over_space(raw, start + 1)
    while raw[at] == '"':
        key, at = _DECODER.raw_decode(raw, at)
        begin = _over_space(raw, _over_space(raw, at) + 1)
        end = _DECODER.raw_decode(raw, begin)[1]
        yield key, _Span(begin, end)
        at = _over_space(raw, end)
        at = _over_space(raw, at + 1) if raw[at] == "," else at


def _elements(raw: str, start: int) -> Iterator[_Span]:
    """The place of each value of the array at `start`."""
    at = _over_space(raw, start + 1)
    while raw[at] != "]":
        end = _DECODER.raw_decode(raw, at)[1]
        yield _Span(at, end)
        at = _over_space(raw, end)
        at = _over_space(raw, at + 1) if raw[at] == "," else at


def _over_space(raw: str, at: int) -> int:
    found = _SPACE.match(raw, at)
    assert found is not None
    return found.end()


def _written(raw: str, span: _Span, cell: str) -> str:
    """The JSON of a cell's new text, as the old one is written."""
    old = raw[span.start : span.end]
    escapes = old.isascii() and "\\u" in old
    if old.startswith('"'):
        return json.dumps(cell, ensure_ascii=escapes)
    items = list(_elements(raw, span.start))
    lines = _LINE.findall(cell)
    if not items or not lines:
        return json.dumps(lines, ensure_ascii=escapes)
    written = {json.loads(raw[item.start : item.end]): raw[item.start : item.end] for item in items}
    texts = [written.get(line) or json.dumps(line, ensure_ascii=escapes) for line in lines]
    between = raw[items[0].end : items[1].start] if len(items) > 1 else _between(raw, span, items[0])
    return raw[span.start : items[0].start] + between.join(texts) + raw[items[-1].end : span.end]


def _between(raw: str, span: _Span, item: _Span) -> str:
    """What would stand between two elements of a list with one."""
    lead = raw[span.start + 1 : item.start]
    return f",{lead}" if lead else ", "
