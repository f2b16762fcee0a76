"""Adding to and taking from what commas separate: arguments, imported names. Comments are never lost.

Works on the text between the brackets; how the list is laid out decides where the new thing goes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from torchperf_lint.facts.syntax.text import NEWLINE, STRING
from torchperf_lint.model import Edit
from torchperf_lint.patterns import pattern

_COMMA = pattern(rf"(?:[ \t\f]|{NEWLINE}|\\(?:{NEWLINE})|\#[^\r\n]*)*,")
_REST = pattern(r"[ \t\f]*(?P<comment>\#[^\r\n]*)?(?=[\r\n]|\Z)")
_NEWLINE = pattern(NEWLINE)
_COMMENT = pattern(rf"{STRING}|(?P<comment>\#[^\r\n]*)", re.DOTALL)
_BLANK = " \t\f"


def has_comment(text: str) -> bool:
    """Whether a comment stands in a piece of code."""
    return "#" in text and any(found["comment"] is not None for found in _COMMENT.finditer(text))


@dataclass(frozen=True)
class Listing:
    """Things between brackets, as offsets into a text."""

    text: str
    items: tuple[tuple[int, int], ...]
    """Start and end of each, without its comma."""
    opening: int
    """Right behind the opening bracket."""
    closing: int
    """The closing bracket."""

    def add(self, item: str) -> list[Edit]:
        """Put `item` last, behind the one that is: on a line of its own where that, or each but the first, has one."""
        if not self.items:
            return [Edit(self.opening, self.opening, item)]
        start, end = self.items[-1]
        comma = self._comma(end)
        rest = _REST.match(self.text, comma or end)
        if self._begins_line(start) and rest is not None and rest.end() < self.closing:
            indent = self.text[self._line_start(start) : start]
            newline = _NEWLINE.match(self.text, rest.end())
            line = (newline[0] if newline else "\n") + indent + item
            if comma is not None:
                return [Edit(rest.end(), rest.end(), line + ",")]
            if rest["comment"] is None:
                return [Edit(end, end, "," + line)]
            return [Edit(end, end, ","), Edit(rest.end(), rest.end(), line)]
        if len(self.items) > 2 and all(self._begins_line(other) for other, _ in self.items[1:]):
            between = _NEWLINE.search(self.text, self.items[-2][1])
            line = (between[0] if between else "\n") + self.text[self._line_start(start) : start] + item
            return [Edit(end, end, f",{line}")]
        return [Edit(end, end, f", {item}")]

    def drop(self, index: int) -> list[Edit]:
        """Take one out, with its comma, and with its line where it has one of its own."""
        start, end = self.items[index]
        comma = self._comma(end)
        after = comma or end
        if len(self.items) == 1 and not has_comment(self.text[self.opening : start] + self.text[end : self.closing]):
            return [Edit(self.opening, self.closing, "")]
        rest = _REST.match(self.text, after)
        if self._begins_line(start) and rest is not None and rest.end() < self.closing:
            if rest["comment"] is None:
                newline = _NEWLINE.match(self.text, rest.end())
                return [Edit(self._line_start(start), newline.end() if newline else rest.end(), "")]
            return [Edit(start, rest.start("comment"), "")]
        if index + 1 < len(self.items):
            following = self.items[index + 1][0]
            if not has_comment(self.text[end:following]) and not _NEWLINE.search(self.text, end, following):
                return [Edit(start, following, "")]
            return [Edit(start, self._over_blanks(after), "")]
        if index and not has_comment(self.text[self.items[index - 1][1] : start]):
            return [Edit(self.items[index - 1][1], end, "")]
        return [Edit(start, after, "")]

    def _comma(self, end: int) -> int | None:
        """Right behind the comma that follows an item."""
        found = _COMMA.match(self.text, end, self.closing)
        return found.end() if found else None

    def _over_blanks(self, offset: int) -> int:
        while self.text[offset : offset + 1] in tuple(_BLANK):
            offset += 1
        return offset

    def _line_start(self, offset: int) -> int:
        return max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1

    def _begins_line(self, start: int) -> bool:
        return self._line_start(start) > self.opening - 1 and not self.text[self._line_start(start) : start].strip(
            _BLANK
        )
