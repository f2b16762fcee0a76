"""Parts of a report in words, shared by the formats; standard library only."""

from __future__ import annotations

import signal
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

from torchperf_lint.model import Location, Problem, Report, Severity

Entry = TypeVar("Entry")
_NOT_SHOWN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def printable(text: str) -> str:
    """`text` without what would move a terminal's cursor, colour it, or reverse its direction."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(char) in _NOT_SHOWN else char for char in text)


def place(at: Location) -> str:
    """`path:line:column`, with the cell in a notebook."""
    cell = f"cell {at.cell}:" if at.cell is not None else ""
    return f"{printable(at.path)}:{cell}{at.line}:{at.column}"


def counted(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `2 batches`."""
    ending = "es" if noun.endswith("ch") else "s"
    return f"{number} {noun}{'' if number == 1 else ending}"


def cut(entries: Sequence[Entry], most: int) -> Sequence[Entry]:
    """The first of them; a line that says that there is one more would be no shorter than that one."""
    return entries if len(entries) == most + 1 else entries[:most]


def signal_name(number: int) -> str:
    """`SIGKILL`."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def problem(entry: Problem) -> str:
    """One line about something that could not be checked."""
    line = f":{entry.line}" if entry.line is not None else ""
    what = f"could not be {entry.task} by {entry.rule}" if entry.rule else f"could not be {entry.task}"
    return printable(f"{entry.path}{line}: {what}: {entry.reason}")


def summary(report: Report) -> str:
    """The closing line: `12 findings (9 warnings, 3 info) in 40 files; 2 files could not be checked`."""
    parts = [f"{_findings(report)} in {counted(report.files, 'file')}"]
    if report.suppressed:
        parts.append(f"{report.suppressed} suppressed by comments")
    for task in ("checked", "fixed"):
        failed = len({entry.path for entry in report.problems if entry.task == task})
        if failed:
            parts.append(f"{counted(failed, 'file')} could not be {task}")
    return "; ".join(parts)


def fixable(report: Report, unsafe: bool) -> str:
    """What can be fixed: `[*] 2 fixable with --fix (1 more with --unsafe-fixes)`; empty where nothing can."""
    fixes = [finding.fix for finding in report.findings if finding.fix is not None]
    now = sum(fix.applies(unsafe) for fix in fixes)
    more = sum(fix.applies(unsafe=True) for fix in fixes) - now
    if not now:
        return f"{more} fixable with --fix --unsafe-fixes" if more else ""
    return f"[*] {now} fixable with --fix" + (f" ({more} more with --unsafe-fixes)" if more else "")


def fixed(report: Report, would: bool = False) -> str:
    """What was fixed, by file and rule, most first: `Fixed 3 findings:` and their list; empty where nothing was."""
    if not report.fixed:
        return ""
    lines = [f"{'Would fix' if would else 'Fixed'} {counted(len(report.fixed), 'finding')}:"]
    names = {finding.code: finding.name for finding in report.fixed}
    for path in sorted({finding.location.path for finding in report.fixed}):
        lines.append(f"- {printable(path)}:")
        codes = Counter(finding.code for finding in report.fixed if finding.location.path == path)
        lines += [f"    {n} x {code} {names[code]}" for code, n in sorted(codes.items(), key=lambda c: (-c[1], c[0]))]
    return "\n".join(lines) + "\n"


def _findings(report: Report) -> str:
    if report.fixed:
        gone, left = len(report.fixed), len(report.findings)
        return f"Found {counted(gone + left, 'finding')} ({gone} fixed, {left} remaining)"
    if not report.findings:
        return "No findings"
    found = Counter(finding.severity for finding in report.findings)
    by_severity = [
        f"{found[severity]} info" if severity is Severity.INFO else counted(found[severity], severity.value)
        for severity in Severity
        if found[severity]
    ]
    return f"{counted(len(report.findings), 'finding')} ({', '.join(by_severity)})"


def statistics(report: Report) -> str:
    """A line for each rule that found something, most findings first."""
    names = {finding.code: finding.name for finding in report.findings}
    counts = Counter(finding.code for finding in report.findings)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    widest = len(str(ordered[0][1])) if ordered else 0
    return "".join(f"{count:>{widest}}  {code}  {names[code]}\n" for code, count in ordered)
