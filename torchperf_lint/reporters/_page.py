"""A page of text for people: words wrapped beside labels, code as it is, lines of source with a span underlined.

Everything but the colours is there in plain text too; nothing but quoted source goes beyond ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from rich.console import Console
from rich.containers import Lines
from rich.text import Text

from torchperf_lint.model import Location, Severity
from torchperf_lint.patterns import pattern
from torchperf_lint.reporters import View
from torchperf_lint.reporters._frame import Row, frame
from torchperf_lint.reporters._sources import Sources
from torchperf_lint.reporters._words import printable

STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
INDENT = 2
LABEL = 12
"""Columns of a label such as `why tensor`, with the space after it."""
_CODE = pattern(r"`[^`]+`")
_UNIT = pattern(r"(?<=\d) (?=(?:ms|s|%|[kMG]?B)(?![\w]))")
"""The space between a number and its unit."""
_PATH = pattern(r"[/\\]|:\d+\b|\.\w+$")
"""In a word: what makes it a path, or a path with a line."""
_NO_BREAK = "\ue000"
"""Stands for a space while words are wrapped; a character nobody uses."""
_NARROWEST = 40
_WIDEST = 120


@dataclass(frozen=True)
class Page:
    """Where a report is written, top to bottom."""

    console: Console
    out: StringIO
    sources: Sources
    width: int
    """Columns."""

    @property
    def text(self) -> str:
        """What has been written."""
        return self.out.getvalue()

    def line(self, text: Text) -> None:
        """Print as it is: what is longer than the page (a path) stays in one piece to be clicked or copied."""
        text.rstrip()
        if self.console.no_color and text.plain.isprintable():
            self.out.write(f"{text.plain}\n")  # what the console would print, in a hundredth of its time
        else:
            self.console.print(text, soft_wrap=True, highlight=False)

    def heading(self, text: str) -> None:
        """What follows, after an empty line."""
        self.line(Text())
        self.paragraph("", text, "bold", indent=0)

    def paragraph(self, label: str, text: str, style: str = "", indent: int = INDENT, room: int = LABEL) -> None:
        """Words wrapped beside their label, which has `room` columns."""
        margin = indent + (room if label else 0)
        width = self.width - margin
        whole = _UNIT.sub(_NO_BREAK, _CODE.sub(lambda code: _unbroken(code.group(), width), printable(text)))
        words = Text(whole, style=style)
        words.highlight_regex(_CODE, "cyan")
        head = self.label(label, indent, room)
        for part in self.wrapped(words, width):
            part.plain = part.plain.replace(_NO_BREAK, " ")
            self.line(Text.assemble(head, part))
            head = Text(" " * margin)

    def wrapped(self, words: Text, width: int) -> Lines:
        """In lines; a path in two pieces could be neither clicked nor copied, so a longer one stands out."""
        whole_paths = any(len(word) > width and _PATH.search(word) for word in words.plain.split())
        return words.wrap(self.console, width, overflow="ignore" if whole_paths else None)

    def label(self, label: str, indent: int = INDENT, room: int = LABEL) -> Text:
        """A dim word, with the space that follows it."""
        return Text.assemble(" " * indent, (label.ljust(room) if label else "", "dim"))

    def instead(self, instead: str, indent: int = INDENT) -> None:
        """One line is words; several are code, which is never wrapped."""
        lines = instead.strip("\n").splitlines() or [""]
        if len(lines) == 1:
            self.paragraph("instead", lines[0], "green", indent)
            return
        head = self.label("instead", indent)
        for line in lines:
            self.line(Text.assemble(head, (printable(line.expandtabs(4)), "green")))
            head = Text(" " * (indent + LABEL))

    def frame(self, at: Location, indent: int, style: str, context: int) -> None:
        """The source at a place; with `context`, that many lines around it and space around all."""
        lines = self.sources.lines(at)
        gutter = len(str(min(at.end_line + context, len(lines))))
        rows = frame(lines, at, self.width - indent - gutter - len(" | "), context)
        if context and rows:
            self.line(Text())
        for text in _numbered(rows, gutter, style):
            self.line(Text.assemble(" " * indent, text))
        if context and rows:
            self.line(Text())


def page(view: View) -> Page:
    """An empty page of the view's width, at least 40 columns and at most 120."""
    width = min(max(view.width, _NARROWEST), _WIDEST)
    out = StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=view.color,
        color_system="standard" if view.color else None,
        no_color=not view.color,
        legacy_windows=False,
    )
    return Page(console, out, Sources(view), width)


def _unbroken(code: str, width: int) -> str:
    """Code within words, kept on one line unless it is long."""
    return code.replace(" ", _NO_BREAK) if len(code) <= width // 2 else code


def _numbered(rows: list[Row], gutter: int, style: str) -> Iterator[Text]:
    for row in rows:
        number = str(row.number) if row.number is not None else ""
        yield Text.assemble((f"{number:>{gutter}} | ", "dim"), (row.text, "" if row.marks else "dim"))
        if row.marks:
            yield Text.assemble((" " * gutter + " | ", "dim"), (row.marks, style))
