"""Differences of texts, line by line: for `patch`, and for the few lines that show a fix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher, unified_diff

from torchperf_lint.facts.syntax.text import NEWLINE
from torchperf_lint.model import Edit, Fix
from torchperf_lint.patterns import pattern

_LINE = pattern(r"[^\n]*\n|[^\n]+")
_NEWLINE = pattern(NEWLINE)
_NO_NEWLINE = "\n\\ No newline at end of file\n"
_LINES = 12
"""A fix that changes more is not shown in a report."""


def unified(path: str, before: str, after: str) -> str:
    """The difference as `patch` and `git apply` read it; carriage returns are part of their lines."""
    lines = unified_diff(_LINE.findall(before), _LINE.findall(after), path, path)
    return "".join(line if line.endswith("\n") else line + _NO_NEWLINE for line in lines)


def of_fix(text: str, fix: Fix) -> list[tuple[str, str]]:
    """("-", line) and ("+", line) for what a fix changes, in order; empty where that is much."""
    changed = [pair for group in _apart(text, fix) for pair in _of_edits(text, group)]
    return changed if len(changed) <= _LINES else []


def departures(changed: Sequence[tuple[str, str]]) -> list[int]:
    """For each line of a difference the 0-based code point where it departs from the one it replaces, or begins."""
    found = [0] * len(changed)
    begin = 0
    while begin < len(changed):
        middle = next((n for n in range(begin, len(changed)) if changed[n][0] == "+"), len(changed))
        end = next((n for n in range(middle, len(changed)) if changed[n][0] == "-"), len(changed))
        for old, new in zip(range(begin, middle), range(middle, end), strict=False):
            found[old] = found[new] = _shared(changed[old][1], changed[new][1])
        begin = end
    return found


def _shared(old: str, new: str) -> int:
    """How many code points two lines begin with alike."""
    return next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


def _apart(text: str, fix: Fix) -> Iterator[list[Edit]]:
    """Edits by the stretches of whole lines that they change."""
    group: list[Edit] = []
    for edit in fix.edits:
        if group and edit.start > _line_end(text, group[-1].end):
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _of_edits(text: str, edits: list[Edit]) -> Iterator[tuple[str, str]]:
    begin, end = _line_start(text, edits[0].start), _line_end(text, edits[-1].end)
    done, at = "", begin
    for edit in edits:
        done += text[at : edit.start] + edit.text
        at = edit.end
    old, new = _NEWLINE.split(text[begin:end]), _NEWLINE.split(done + text[at:end])
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (("-", line) for line in old[i:j])
            yield from (("+", line) for line in new[k:m])


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    found = _NEWLINE.search(text, offset)
    return found.start() if found else len(text)
