"""Which findings the comments of a file silence.

flake8's `# noqa` and `# flake8: noqa` mean here what they mean there; ours are
`# torchperf-lint: ignore[TPL101] reason` and, on a line of its own, `# torchperf-lint: ignore-file[TPL101]`.
Comments are found by a scanner of strings and comments instead of `tokenize`: the same answer on every Python,
on text with syntax errors too, at the speed of one regular expression.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, TypeAlias

from torchperf_lint.facts.syntax.text import NEWLINE, STRING, split_lines
from torchperf_lint.patterns import pattern

OUR_PREFIX = "TPL"
Kind: TypeAlias = Literal["noqa", "flake8", "ours"]

_WORDS = ("noqa", "torchperf-lint")
# Strings, so that a `#` inside is no comment; comments; lines joined by a backslash.
_LEXEMES = pattern(rf"{STRING}|(?P<comment>\#[^\r\n]*)|\\(?:{NEWLINE})", re.DOTALL)
_NEWLINE = pattern(NEWLINE)
_CODE = pattern(r"[^,\s]+")
_CODES = r"(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?"
_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("noqa", pattern(r"#\s*noqa" + _CODES, re.IGNORECASE)),
    ("flake8", pattern(r"#\s*flake8[:=]\s*(?P<file>noqa)" + _CODES, re.IGNORECASE)),
    (
        "ours",
        pattern(r"#\s*torchperf-lint\s*:\s*ignore(?P<file>-file)?\b(?:\s*\[(?P<codes>[^\]]*)\]?)?", re.IGNORECASE),
    ),
)


@dataclass(frozen=True)
class Suppression:
    """One marker in a comment. Lines and columns are 1-based, in code points; the end is exclusive."""

    line: int
    column: int
    end_column: int
    codes: tuple[str, ...] | None
    """Codes or prefixes, upper case; None silences all."""
    whole_file: bool
    kind: Kind
    first_line: int
    """With `last_line`, the lines joined to the comment's by a string or a backslash, as flake8 joins them."""
    last_line: int
    spans: tuple[tuple[int, int], ...] = ()
    """Column and end column of each of `codes`."""

    def span(self, code: str | None) -> tuple[int, int]:
        """Column and end column of one of `codes`; of the whole marker for None."""
        if code is None or self.codes is None:
            return self.column, self.end_column
        return self.spans[self.codes.index(code)]

    def entry_for(self, code: str) -> str | None:
        """What of `codes` names `code`: itself or a prefix."""
        return next((entry for entry in self.codes or () if code.startswith(entry)), None)

    def silences(self, code: str) -> bool:
        """Whether `code` is among what this silences."""
        return self.codes is None or self.entry_for(code) is not None


@dataclass(frozen=True)
class Suppressions:
    """All markers of one text, in order."""

    all: tuple[Suppression, ...] = ()

    def matching(self, line: int, end_line: int, code: str) -> Suppression | None:
        """The first marker that silences `code` on these lines."""
        return next((marker for marker, _ in self.matches(line, end_line, code)), None)

    def matches(self, line: int, end_line: int, code: str) -> Iterator[tuple[Suppression, str | None]]:
        """Every marker that silences `code` on these lines, with its entry for it (None: it silences all).

        A marker speaks about a finding by the finding's first line or its last.
        """
        whole, on_line = self._places
        for number in sorted({*whole, *on_line.get(line, ()), *on_line.get(end_line, ())}):
            marker = self.all[number]
            if marker.silences(code):
                yield marker, marker.entry_for(code)

    @cached_property
    def _places(self) -> tuple[list[int], dict[int, list[int]]]:
        """The numbers of the markers for the whole file, and, for each line, of those that speak about it."""
        whole: list[int] = []
        on_line: dict[int, list[int]] = {}
        for number, marker in enumerate(self.all):
            if marker.whole_file:
                whole.append(number)
                continue
            for line in range(marker.first_line, marker.last_line + 1):
                on_line.setdefault(line, []).append(number)
        return whole, on_line

    def ours(self) -> Iterator[tuple[Suppression, str | None]]:
        """What may be reported as unused: codes of ours in any marker, and markers of ours without codes (None).

        A blanket `# noqa` and the codes of other linters are somebody else's to judge.
        """
        for marker in self.all:
            if marker.codes is None and marker.kind == "ours":
                yield marker, None
            for code in marker.codes or ():
                if marker.kind == "ours" or code.startswith(OUR_PREFIX):
                    yield marker, code


def has_markers(text: str) -> bool:
    """Whether `text` can hold a suppression; costs a fraction of `parse`."""
    lowered = text.lower()
    return any(word in lowered for word in _WORDS)


def parse(text: str) -> Suppressions:
    """The suppressions in the comments of `text`; never raises, whatever the text."""
    if not has_markers(text):
        return Suppressions()
    starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
    comments, joined = _scan(text, starts)
    return Suppressions(tuple(_markers_of(text, starts, comments, joined)))


def parse_text(text: str) -> Suppressions:
    """The suppressions of a text that is not Python: one on a line of its own speaks about the statement below, too.

    A Dockerfile takes comments in no other place.
    """
    found = parse(text).all
    lines = split_lines(text)
    widened = []
    for mark in found:
        below = mark.last_line
        if not mark.whole_file and lines[mark.line - 1].lstrip().startswith("#"):
            below = mark.line + 1
            while below < len(lines) and lines[below - 1].rstrip().endswith("\\"):
                below += 1
        widened.append(replace(mark, last_line=below))
    return Suppressions(tuple(widened))


def joined_lines(text: str, line: int) -> tuple[int, int]:
    """The first and last of the lines that strings and backslashes join a 1-based line with."""
    starts = [0, *(newline.end() for newline in _NEWLINE.finditer(text))]
    spans = [span for span in _scan(text, starts)[1].values() if span[0] <= line <= span[1]]
    return min((line, *(first for first, _ in spans))), max((line, *(last for _, last in spans)))


def _scan(text: str, starts: list[int]) -> tuple[list[tuple[int, int]], dict[int, tuple[int, int]]]:
    """Start and end of each comment, and line -> first and last of the lines it is joined with."""
    comments: list[tuple[int, int]] = []
    joined: dict[int, tuple[int, int]] = {}
    for lexeme in _LEXEMES.finditer(text):
        if lexeme["comment"] is not None:
            comments.append(lexeme.span())
            continue
        first, last = bisect_right(starts, lexeme.start()), bisect_right(starts, lexeme.end())
        if first < last:
            first = joined.get(first, (first, first))[0]
            joined.update(dict.fromkeys((first, last), (first, last)))
    return comments, joined


def _markers_of(
    text: str, starts: list[int], comments: list[tuple[int, int]], joined: dict[int, tuple[int, int]]
) -> Iterator[Suppression]:
    for start, end in comments:
        line = bisect_right(starts, start)
        begin = starts[line - 1]
        alone = not text[begin:start].strip()
        first, last = joined.get(line, (line, line))
        for kind, form in _PATTERNS:
            for match in form.finditer(text, start, end):
                whole_file = "file" in form.groupindex and match["file"] is not None
                if alone or not whole_file:
                    yield _suppression(match, kind, whole_file, begin, (line, first, last))


def _suppression(
    match: re.Match[str], kind: Kind, whole_file: bool, begin: int, lines: tuple[int, int, int]
) -> Suppression:
    codes: dict[str, tuple[int, int]] | None = None
    if match["codes"] is not None:
        codes = {}
        for code in _CODE.finditer(match.string, *match.span("codes")):
            codes.setdefault(code[0].upper(), (code.start() - begin + 1, code.end() - begin + 1))
    line, first, last = lines
    end = match.start() + len(match[0].rstrip())
    return Suppression(
        line=line,
        column=match.start() - begin + 1,
        end_column=end - begin + 1,
        codes=None if codes is None else tuple(codes),
        whole_file=whole_file,
        kind=kind,
        first_line=first,
        last_line=last,
        spans=() if codes is None else tuple(codes.values()),
    )
