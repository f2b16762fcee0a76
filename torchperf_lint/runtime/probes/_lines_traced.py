"""Lines that ran, on Python 3.10 and 3.11: `sys.settrace` on the training thread, during the warm-up only."""

from __future__ import annotations

import atexit
import sys
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes._dynamo import number_of_backends, would_disturb
from torchperf_lint.runtime.sites import PROJECT

if TYPE_CHECKING:
    from torchperf_lint.runtime.probes.lines import Lines

_TAKEN = "a debugger or a coverage tool traces this thread (Python 3.12 has room for both)"
_COMPILES = "the script uses torch.compile, which would compile a trace function, too (needs Python 3.12)"
_BUDGET = 300_000
"""Calls and lines after which tracing ends even if the warm-up does not: about 0.2 s of the run."""


class Traced:
    """Counts lines of the project's functions from the first mark of the timeline until the warm-up is over."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.session = lines.session
        self.reason: str | None = None
        self._call, self._line = self._on_call, self._on_line
        self._kinds: dict[str, bool] = {}
        self._left = _BUDGET
        self._backends = 0
        self.session.callbacks += [Traced._on_call.__code__, Traced._on_line.__code__]
        self.session.timeline.on_first_mark.append(self.session.guarded("lines", self.start))

    def complete(self, path: str) -> bool:
        """Never: lines before the first step and after the warm-up are not seen."""
        del path
        return False

    def restart(self) -> None:
        """A forked child is not traced until its own first step."""
        self.stop()

    def pause(self) -> None:
        """Tracing begins anew with the next first step."""
        self.stop()

    def start(self) -> None:
        """Trace this thread, the functions it is in included."""
        if sys.gettrace() is not None or would_disturb():
            self._cannot(_TAKEN if sys.gettrace() is not None else _COMPILES)
            return
        if self._is_over():
            return
        self._left = _BUDGET
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if self._is_project(frame.f_code) and frame.f_trace is None:
                frame.f_trace = self._line
            frame = frame.f_back
        atexit.register(self.stop)
        sys.settrace(self._call)

    def stop(self) -> None:
        """Leave no trace function behind, on any frame."""
        if sys.gettrace() is self._call:
            sys.settrace(None)
        frame: FrameType | None = sys._getframe()
        while frame is not None:
            if frame.f_trace is self._line:
                frame.f_trace = None
            frame = frame.f_back

    def _cannot(self, reason: str) -> None:
        self.reason = reason
        self.session.recorder.probe("lines", "unavailable", reason)

    def _is_over(self) -> bool:
        return self._left <= 0 or self.session.recorder.scopes.steady

    def _compiles(self) -> bool:
        self._backends = number_of_backends()
        return would_disturb()

    def _is_project(self, code: CodeType) -> bool:
        known = self._kinds.get(code.co_filename)
        if known is None:
            known = self._kinds[code.co_filename] = self.session.sites.kind_of(code.co_filename) == PROJECT
        return known

    def _on_call(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ANN401 -- the interpreter's signature
        del event, arg
        try:
            self._left -= 1
            if self._is_over():
                self.stop()
            elif number_of_backends() != self._backends and self._compiles():
                self.stop()
                self._cannot(_COMPILES)
            elif self._is_project(frame.f_code):
                return self._line
        except Exception as error:  # noqa: BLE001 -- the border of a probe: it would be raised into the script
            self._failed(error)
        return None

    def _on_line(self, frame: FrameType, event: str, arg: Any) -> Any:  # noqa: ANN401 -- the interpreter's signature
        del arg
        try:
            self._left -= 1
            if self._is_over():
                self.stop()
                return None
            if event == "line":
                self.lines.ran(frame.f_code, frame.f_lineno)
        except Exception as error:  # noqa: BLE001 -- the border of a probe: it would be raised into the script
            self._failed(error)
            return None
        return self._line

    def _failed(self, error: Exception) -> None:
        self.stop()
        self.session.failed("lines", error)
