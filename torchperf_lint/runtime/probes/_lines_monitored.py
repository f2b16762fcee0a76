"""Lines that ran, on Python 3.12 and later: `sys.monitoring`, switched off line by line."""

from __future__ import annotations

import sys
from types import CodeType
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _unseen
from torchperf_lint.runtime.sites import PROJECT

if TYPE_CHECKING:
    from torchperf_lint.runtime.probes.lines import Lines

_TOOL = "torchperf-lint"
_FREE_FOR_ALL = (3, 4)
"""The tool numbers that Python has not given a purpose; the others are tried after them."""
_OTHERS = (5, 1, 2, 0)
_SPAWNING = ("multiprocessing.popen_spawn_posix", "multiprocessing.popen_forkserver")
"""Imported once a process was started that inherits nothing from this one: as a loader worker it tells nobody."""
_FORKING = "multiprocessing.popen_fork"


class Monitored:
    """Counts from the first line of the process on. The start of each function costs one call, once."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.reason: str | None = None
        self._monitoring: Any = sys.monitoring  # type: ignore[attr-defined, unused-ignore]
        self._unseen = _unseen.Unseen(lines.session)
        self._paused = False
        self._tool = self._take_tool()
        if self._tool is None:
            self.reason = "every tool number of sys.monitoring is taken"
            return
        lines.session.callbacks += [Monitored._started.__code__, Monitored._line.__code__]
        events = self._monitoring.events
        self._monitoring.register_callback(self._tool, events.PY_START, self._started)
        self._monitoring.register_callback(self._tool, events.LINE, self._line)
        self._monitoring.set_events(self._tool, events.PY_START)

    def complete(self, path: str) -> bool:
        """All lines are seen but those of functions that a compiler runs in another form."""
        return self.reason is None and path not in self._unseen and not self._has_silent_workers()

    def _has_silent_workers(self) -> bool:
        """Whether processes were started that could be loader workers and cannot tell us what they run."""
        starters = _SPAWNING if self.lines.mailbox is not None else (*_SPAWNING, _FORKING)
        return any(name in sys.modules for name in starters)

    def restart(self) -> None:
        """What was switched off in the parent, or while nobody watched, is watched again."""
        if self._paused:
            self._paused = False
            self._monitoring.set_events(self._tool, self._monitoring.events.PY_START)
        self._monitoring.restart_events()

    def pause(self) -> None:
        """Each line that still calls back does so once more."""
        if self._tool is not None:
            self._paused = True
            self._monitoring.set_events(self._tool, 0)

    def _take_tool(self) -> int | None:
        for number in (*_FREE_FOR_ALL, *_OTHERS):
            if self._monitoring.get_tool(number) is None:
                self._monitoring.use_tool_id(number, _TOOL)
                return number
        return None

    def _started(self, code: CodeType, offset: int) -> object:
        del offset
        try:
            if self.lines.session.sites.kind_of(code.co_filename) == PROJECT:
                self._monitoring.set_local_events(self._tool, code, self._monitoring.events.LINE)
        except Exception as error:  # noqa: BLE001 -- the border of a probe: it would be raised into the script
            self._failed(error)
        return self._monitoring.DISABLE

    def _line(self, code: CodeType, line: int) -> object:
        try:
            return self._monitoring.DISABLE if self._paused or self.lines.ran(code, line) else None
        except Exception as error:  # noqa: BLE001 -- the border of a probe: it would be raised into the script
            self._failed(error)
            return self._monitoring.DISABLE

    def _failed(self, error: Exception) -> None:
        self.reason = "failed"
        self.lines.session.failed("lines", error)
