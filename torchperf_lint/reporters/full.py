"""For people: the line, why it matters, what to write instead.

Everything but the colours is there in plain text too; nothing but quoted source goes beyond ASCII.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from rich.console import Console
from rich.text import Text

from torchperf_lint.model import Finding, Location, Related, Report, Severity
from torchperf_lint.reporters import View
from torchperf_lint.reporters._frame import Row, frame
from torchperf_lint.reporters._sources import Sources
from torchperf_lint.reporters._words import place, printable, summary

_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold cyan"}
_INDENT = 2
_LABEL = 12
"""Columns of a label such as `why tensor`, with the space after it."""
_CODE = re.compile(r"`[^`]+`")
_NO_BREAK = "\ue000"
"""Stands for a space while words are wrapped; a character nobody uses."""
_NARROWEST = 40
_WIDEST = 120


def render(report: Report, view: View) -> str:
    """The findings and a closing line; what could not be checked goes to standard error."""
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
    page = _Page(console, Sources(view), width)
    for finding in report.findings:
        page.finding(finding)
    if not view.quiet:
        page.line(Text(summary(report), style="bold"))
    return out.getvalue()


@dataclass(frozen=True)
class _Page:
    console: Console
    sources: Sources
    width: int

    def line(self, text: Text) -> None:
        """Print as it is: what is longer than the page (a path) stays in one piece to be clicked or copied."""
        text.rstrip()
        self.console.print(text, soft_wrap=True, highlight=False)

    def finding(self, finding: Finding) -> None:
        """A header, the message, the code, and a labelled line for each thing there is to say."""
        style = _STYLES[finding.severity]
        self._header(finding, style)
        self._paragraph("", finding.message, "bold")
        self._frame(finding.location, _INDENT, style, context=1)
        self._instead(finding.instead)
        for label, text in (("why tensor", finding.why_tensor), ("why hot", finding.why_hot)):
            if text:
                self._paragraph(label, text)
        for related in finding.related:
            self._related(related)
        self.line(Text.assemble(self._label("read more"), (f"torchperf-lint --explain {finding.code}", "cyan")))
        self.line(Text())

    def _header(self, finding: Finding, style: str) -> None:
        where = Text(place(finding.location), style="bold")
        sure = (f" ({finding.confidence})", "dim")
        what = Text.assemble((finding.severity.value, style), " ", (finding.code, style), " ", finding.name, sure)
        if where.cell_len + what.cell_len + _INDENT > self.width:
            self.line(where)
            self.line(Text.assemble(" " * _INDENT, what))
        else:
            self.line(Text.assemble(where, " " * _INDENT, what))

    def _paragraph(self, label: str, text: str, style: str = "") -> None:
        """Words wrapped beside their label."""
        margin = _INDENT + (_LABEL if label else 0)
        width = self.width - margin
        words = Text(_CODE.sub(lambda code: _unbroken(code.group(), width), printable(text)), style=style)
        words.highlight_regex(_CODE, "cyan")
        head = self._label(label)
        for part in words.wrap(self.console, width):
            part.plain = part.plain.replace(_NO_BREAK, " ")
            self.line(Text.assemble(head, part))
            head = Text(" " * margin)

    def _label(self, label: str) -> Text:
        return Text.assemble(" " * _INDENT, (label.ljust(_LABEL) if label else "", "dim"))

    def _instead(self, instead: str) -> None:
        """One line is words; several are code, which is never wrapped."""
        lines = instead.strip("\n").splitlines() or [""]
        if len(lines) == 1:
            self._paragraph("instead", lines[0], "green")
            return
        head = self._label("instead")
        for line in lines:
            self.line(Text.assemble(head, (printable(line.expandtabs(4)), "green")))
            head = Text(" " * (_INDENT + _LABEL))

    def _related(self, related: Related) -> None:
        self._paragraph("see also", f"{place(related.location)}  {related.message}")
        self._frame(related.location, _INDENT + _LABEL, "cyan", context=0)

    def _frame(self, at: Location, indent: int, style: str, context: int) -> None:
        lines = self.sources.lines(at)
        gutter = len(str(min(at.end_line + context, len(lines))))
        rows = frame(lines, at, self.width - indent - gutter - len(" | "), context)
        if context and rows:
            self.line(Text())
        for text in _numbered(rows, gutter, style):
            self.line(Text.assemble(" " * indent, text))
        if context and rows:
            self.line(Text())


def _unbroken(code: str, width: int) -> str:
    """Code within words, kept on one line unless it is long."""
    return code.replace(" ", _NO_BREAK) if len(code) <= width // 2 else code


def _numbered(rows: list[Row], gutter: int, style: str) -> Iterator[Text]:
    for row in rows:
        number = str(row.number) if row.number is not None else ""
        yield Text.assemble((f"{number:>{gutter}} | ", "dim"), (row.text, "" if row.marks else "dim"))
        if row.marks:
            yield Text.assemble((" " * gutter + " | ", "dim"), (row.marks, style))
