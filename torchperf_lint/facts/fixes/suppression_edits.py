"""Suppression comments put in and taken out: the text around them stays as it is."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from torchperf_lint.facts.files import suppressions
from torchperf_lint.facts.files.suppressions import Suppression
from torchperf_lint.facts.syntax.text import NEWLINE
from torchperf_lint.model import Edit
from torchperf_lint.patterns import pattern

_NEWLINE = pattern(NEWLINE)
_NEXT_COMMENT = pattern(r"[ \t]+(?=#\s*[A-Za-z])")
_BLANK = " \t\f"


def removed(text: str, mark: Suppression, code: str | None) -> Edit:
    """Take one code out of a marker; the whole marker with its reason, for its only code or for None.

    Where nothing is left of a comment on a line of its own, the line goes.
    """
    begin, newline, after = _line(text, mark.line)
    if code is not None and mark.codes is not None and len(mark.codes) > 1:
        return _without_code(text, begin, mark, code)
    start = begin + mark.column - 1
    following = _NEXT_COMMENT.search(text, begin + mark.end_column - 1, newline)
    if following is not None:
        return Edit(start, following.end(), "")
    before = text[begin:start].rstrip(_BLANK)
    if before:
        return Edit(begin + len(before), newline, "")
    return Edit(begin, after, "")


def _without_code(text: str, begin: int, mark: Suppression, code: str) -> Edit:
    assert mark.codes is not None
    column, end_column = mark.span(code)
    index = mark.codes.index(code)
    start, end = begin + column - 1, begin + end_column - 1
    if index + 1 < len(mark.codes):
        return Edit(start, begin + mark.spans[index + 1][0] - 1, "")
    return Edit(begin + mark.spans[index - 1][1] - 1, end, "")


def added(text: str, line: int, codes: Iterable[str], reason: str = "") -> Edit | None:
    """Silence codes on a 1-based line with `# noqa: CODES - reason`, or in the `# noqa` that is there already.

    A line that a string or a backslash joins to others takes the comment where it can stand: behind the last of
    them, which flake8 reads as ours do. None where all codes are silenced there already.
    """
    first, last = suppressions.joined_lines(text, line)
    marks = [m for m in suppressions.parse(text).all if first <= m.line <= last and m.kind == "noqa"]
    wanted = [code for code in sorted(set(codes)) if not any(m.silences(code) for m in marks)]
    if not wanted:
        return None
    begin, end, _ = _line(text, last)
    mark = next((m for m in marks if m.codes is not None), None)
    why = f" - {reason}" if reason else ""
    if mark is not None:
        begin, end, _ = _line(text, mark.line)
        at = begin + mark.spans[-1][1] - 1
        separator = ", " if ", " in text[begin + mark.spans[0][0] - 1 : at] else ","
        said = text[at:end].strip(_BLANK)
        return Edit(at, at, "".join(separator + code for code in wanted) + ("" if said else why))
    at = begin + len(text[begin:end].rstrip(_BLANK))
    return Edit(at, at, f"  # noqa: {', '.join(wanted)}{why}")


def _line(text: str, number: int) -> tuple[int, int, int]:
    """Where a 1-based line begins, where its newline does, and where the next line does."""
    newlines = _newlines(text)
    begin = newlines[min(number - 1, len(newlines)) - 1][1] if number > 1 and newlines else 0
    return (begin, *newlines[number - 1]) if number <= len(newlines) else (begin, len(text), len(text))


@lru_cache(maxsize=2)
def _newlines(text: str) -> tuple[tuple[int, int], ...]:
    """Where each line's newline begins and ends; kept for the next marker of the same text."""
    return tuple(newline.span() for newline in _NEWLINE.finditer(text))
