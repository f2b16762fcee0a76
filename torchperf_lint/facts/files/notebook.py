"""A Jupyter notebook as one Python text, with the way back to its cells.

Cells are numbered from 1 among the code cells, so that adding prose renumbers nothing. What IPython understands
and Python does not (magics, shell lines, help lines) gives way to Python that does nothing, line for line, so
that every line and column stays where the author sees it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.syntax.text import NEWLINE, STRING, split_lines
from torchperf_lint.patterns import pattern

_PYTHON_CELL_MAGICS = frozenset({"capture", "prun", "time", "timeit"})
_CELL_MAGIC = pattern(r"\s*%%(\w*)")
_ESCAPE = pattern(r"(?m)^[ \t]*[%!?,;/]|=[ \t]*[%!]|\?[ \t]*$")
_LINE_MAGIC = pattern(r"([ \t]*)(?:[%!?,;/]|[^#'\"\r\n]*\?[ \t]*(?:[\r\n]|\Z))")
_ASSIGNED_MAGIC = pattern(r"([^#'\"=!%\r\n]+=[ \t]*)[!%]")
_JOINED_LINE = pattern(rf"(?:[^\r\n]*\\(?:{NEWLINE}))*[^\r\n]*(?:{NEWLINE}|\Z)")
_NEWLINE = pattern(NEWLINE)
_LEXEMES = pattern(
    rf"{STRING}|\#[^\r\n]*|\\(?:{NEWLINE})|(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<newline>{NEWLINE})", re.DOTALL
)


@dataclass(frozen=True)
class NotebookSource:
    """The code of a notebook; every cell begins on a line of its own."""

    text: str
    starts: tuple[int, ...] = ()
    """The 1-based line of `text` on which each code cell begins."""

    def locate(self, line: int) -> tuple[int, int]:
        """The 1-based code cell and line within it of a 1-based line of `text`."""
        cell = max(bisect_right(self.starts, line), 1)
        return cell, line - (self.starts[cell - 1] if self.starts else 1) + 1


def to_source(text: str) -> NotebookSource:
    """The Python of an .ipynb file's `text`; empty where the kernel runs another language.

    Raises CannotCheck for what is not a notebook of format 4 or later.
    """
    notebook = _parsed(text)
    if not _is_python(notebook):
        return NotebookSource("")
    cells = [_neutralised(_ended(_source(cell))) for cell in notebook["cells"] if is_code(cell)]
    lines = accumulate((len(split_lines(cell)) for cell in cells[:-1]), initial=1)
    source = "".join(cells)
    if "\0" in source:
        raise CannotCheck("a cell of the notebook holds a NUL character")
    try:
        source.encode("utf-8")
    except UnicodeEncodeError:
        raise CannotCheck("a cell of the notebook holds half of a surrogate pair, which is no text") from None
    return NotebookSource(source, tuple(lines) if cells else ())


def _parsed(text: str) -> dict[str, list[object]]:
    try:
        notebook = json.loads(text)
    except json.JSONDecodeError as error:
        raise CannotCheck(f"not a notebook: malformed JSON ({error.msg})", error.lineno) from None
    except (ValueError, RecursionError) as error:
        raise CannotCheck(f"not a notebook: unreadable JSON ({error})") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise CannotCheck("not a notebook of format 4 or later: it has no list of cells")
    return notebook


def _is_python(notebook: dict[str, list[object]]) -> bool:
    stated = (_within(notebook, "metadata", *path) for path in (("kernelspec", "language"), ("language_info", "name")))
    return all(word is None or str(word).lower().startswith(("python", "ipython")) for word in stated)


def code_cells(text: str) -> list[str]:
    """The sources of the code cells of an .ipynb file's `text`, as their author wrote them. Raises CannotCheck."""
    return [_source(cell) for cell in _parsed(text)["cells"] if is_code(cell)]


def is_code(cell: object) -> bool:
    """Whether a cell of a notebook's JSON holds code in the kernel's language."""
    language = _within(cell, "metadata", "vscode", "languageId")
    return _within(cell, "cell_type") == "code" and language in (None, "python")


def _within(value: object, *keys: str) -> object:
    """What stands under `keys` in nested JSON objects, or None."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _source(cell: object) -> str:
    source = _within(cell, "source")
    parts = [source] if isinstance(source, str) else source
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise CannotCheck("not a notebook: a code cell's source is not text")
    return "".join(parts)


def _ended(cell: str) -> str:
    return cell if cell.endswith(("\n", "\r")) else cell + "\n"


def _neutralised(cell: str) -> str:
    """`cell` with every line kept in its place and only Python left."""
    magic = _CELL_MAGIC.match(cell)
    if magic and magic[1] not in _PYTHON_CELL_MAGICS:
        return _blank(cell)
    if not _ESCAPE.search(cell):
        return cell
    out: list[str] = []
    start = 0
    while start < len(cell):
        text, start = _next_statement(cell, start)
        out.append(text)
    return "".join(out)


def _next_statement(cell: str, start: int) -> tuple[str, int]:
    """The logical line at `start`, neutralised, and where the next begins.

    Only the beginning of a logical line can be IPython's: a line of a string or an open bracket may begin
    with `%` and be Python.
    """
    magic = _LINE_MAGIC.match(cell, start)
    assigned = _ASSIGNED_MAGIC.match(cell, start) if magic is None else None
    magic = magic or assigned
    if magic is None:
        end = _logical_end(cell, start)
        return cell[start:end], end
    joined = _JOINED_LINE.match(cell, start)
    end = joined.end() if joined else len(cell)
    filler = "None" if assigned is not None else "pass"
    return magic[1] + filler + _blank(cell[start:end]), end


def _logical_end(cell: str, start: int) -> int:
    """Where the logical line at `start` ends, its newline included."""
    depth = 0
    for lexeme in _LEXEMES.finditer(cell, start):
        depth += (lexeme["open"] is not None) - (lexeme["close"] is not None)
        if lexeme["newline"] is not None and depth <= 0:
            return lexeme.end()
    return len(cell)


def _blank(text: str) -> str:
    return "".join(_NEWLINE.findall(text))
