"""Which lines of the project ran, and whether three times or more: what "refuted" and "not reached" rest on.

Python 3.12 and later tell from the start of the process, at no cost once a line has run three times. Before that,
lines are traced from the first step's beginning until the warm-up is over, on the training thread, unless a debugger
or a coverage tool traces already; nothing is known then of lines that were not seen.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import CodeType
from typing import TYPE_CHECKING, Any, Protocol

from torchperf_lint.events import Record

if TYPE_CHECKING:
    from torchperf_lint.runtime.probes._lines_of_workers import Mailbox
    from torchperf_lint.runtime.session import Session

NAME = "lines"
CAP = 3
"""Counting stops here: a line that ran so often without an event does not cause it."""


class Watching(Protocol):
    """One of the two ways to see lines run."""

    reason: str | None
    """Why it cannot; None while it can."""

    def complete(self, path: str) -> bool:
        """Whether a line of this file that was not seen did not run."""

    def restart(self) -> None:
        """In a forked child, and when a process is watched once more."""

    def pause(self) -> None:
        """Until `restart`, lines are nobody's business."""


class Lines:
    """How often lines ran, by file name of their code."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.watching: Watching | None = None
        self.mailbox: Mailbox | None = None
        """Where forked loader workers tell what they ran; None where they cannot."""
        self._of_parent: dict[str, dict[int, int]] | None = None
        self._in_process = bool(session.spec.get("in_process"))
        self._begin()

    def _begin(self) -> None:
        self._counts: dict[tuple[str, str, int], dict[int, int]] = {}
        """By file, name and first line: code objects of different files are equal where their text is."""
        self._known: dict[str, dict[int, int]] = {}
        self._changed: dict[str, dict[int, int]] = {}
        self._complete: dict[str, bool] = {}

    def restart(self) -> None:
        """A forked child counts what it runs itself; it remembers what its parent knows if it is to tell it."""
        self._of_parent = self._known
        self._begin()
        if self.watching is not None:
            self.watching.restart()

    def ran(self, code: CodeType, line: int) -> bool:
        """Count one run of a line; True once it needs no more counting."""
        key = (code.co_filename, code.co_name, code.co_firstlineno)
        counts = self._counts.get(key)
        if counts is None:
            counts = self._counts[key] = {}
        times = counts.get(line, 0)
        if times < CAP:
            times = counts[line] = times + 1
            self._note(code.co_filename, line, times)
        return times >= CAP

    def _note(self, path: str, line: int, times: int) -> None:
        if self.session.recorder.muted:
            self._tell_parent(path, line, times)
            return
        known = self._known.setdefault(path, {})
        if times > known.get(line, 0):
            known[line] = times
            self._changed.setdefault(path, {})[line] = times

    def _tell_parent(self, path: str, line: int, times: int) -> None:
        if self.mailbox is None or self._of_parent is None:
            return
        if self._of_parent.get(path, {}).get(line, 0) < times:
            self.mailbox.tell(path, line, times)

    def records(self) -> Iterator[Record]:
        """Lines whose count changed, and files of which less is known than before."""
        for path, line, times in self.mailbox.told() if self.mailbox is not None else ():
            self._note(path, line, times)
        for path in sorted(self._complete.keys() | self._changed.keys()):
            changed = self._changed.pop(path, {})
            # What ran before a watch within the process began, nobody has seen.
            complete = self.watching is not None and self.watching.complete(path) and not self._in_process
            if changed or complete != self._complete.get(path):
                self._complete[path] = complete
                ran = {str(line): times for line, times in sorted(changed.items())}
                shown = self.session.sites.shown(path)
                yield {"record": "lines", "path": shown, "complete": complete, "cap": CAP, "ran": ran}


def begin(session: Session) -> None:
    """Watch from now on; called before the script's first line runs, so that nothing is missed."""
    lines = Lines(session)
    vars(session)["lines"] = lines
    if sys.version_info >= (3, 12):
        from torchperf_lint.runtime.probes._lines_monitored import Monitored

        lines.mailbox = _mailbox()
        lines.watching = Monitored(lines)
    else:
        from torchperf_lint.runtime.probes._lines_traced import Traced

        lines.watching = Traced(lines)
    session.restarts.append(lines.restart)
    session.recorder.sources.append(session.guarded(NAME, lambda: list(lines.records())))


def _mailbox() -> Mailbox | None:
    try:
        from torchperf_lint.runtime.probes._lines_of_workers import Mailbox

        return Mailbox()
    except (ImportError, AttributeError, OSError):
        return None


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Say whether lines are watched; `begin` has seen to it."""
    del torch
    if "lines" not in vars(session):
        begin(session)
    lines: Lines = vars(session)["lines"]
    return lines.watching.reason if lines.watching is not None else "not started"
