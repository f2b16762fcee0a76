"""`torch.compile`: what is compiled, when, why again, and where graphs break.

Dynamo keeps a figure sheet of its last compilations (`_compilation_metrics`, a deque) and a list of all graph breaks.
The deque gives way to one of ours that also tells us what is appended; the list is only read, each time a sheet comes.
Nothing of the compiler is replaced: what it compiles, counts and logs is as it was.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _compiled

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "compilation"
_UTILS = "torch._dynamo.utils"
_SHEETS = "_compilation_metrics"
_SIMULATED = "on the simulated device `torch.compile` runs everything uncompiled"
_MOST_TOLD_APART = 300
"""Reasons and places; what comes after them is counted without its reason."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Watch Dynamo, once the script has it loaded: most never do."""
    if session.simulated:
        return _SIMULATED
    if not hasattr(torch, "compile"):
        return f"torch {torch.__version__} has no torch.compile"
    watch = _Watch(session)
    session.after_import(_UTILS, watch.begin)
    return watch.blind


class _Watch:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.blind: str | None = None
        """Why nothing can be seen."""
        self._frames: dict[str, _compiled.Frame] = {}
        """Dynamo's number of a frame -> what it is; the sheet of a compilation that was refused does not say."""
        self._breaks_read = 0
        self._told: set[object] = set()

    def begin(self, utils: Any) -> None:  # noqa: ANN401
        """Put our deque in the place of Dynamo's."""
        sheets = getattr(utils, _SHEETS, None)
        if not isinstance(sheets, deque) or not hasattr(utils, "CompilationMetrics"):
            self.blind = "this torch keeps no figures of its compilations (2.4 and later do)"
            self.session.recorder.probe(NAME, "unavailable", self.blind)
            return
        fields = getattr(utils.CompilationMetrics, "__dataclass_fields__", {})
        self._listen(utils)
        # `set_compilation_metrics_limit` makes a deque of its own.
        self.session.recorder.sources.append(lambda: self._listen(utils))
        able = {"guards": "recompile_reason" in fields, "limits": hasattr(utils, "get_metrics_context")}
        self.session.recorder.state("compilation", able)

    def _listen(self, utils: Any) -> None:  # noqa: ANN401
        sheets = getattr(utils, _SHEETS)
        if not isinstance(sheets, _Sheets):
            tell = self.session.guarded(NAME, lambda sheet: self._note(utils, sheet))
            setattr(utils, _SHEETS, _Sheets(sheets, tell))

    def _note(self, utils: Any, sheet: Any) -> None:  # noqa: ANN401
        frame, ms = self._frame(sheet), _compiled.ms_of(sheet)
        if ms is not None:
            self.session.timeline.compiled(ms)
        for reason, stack in self._new_breaks(utils):
            self._event("graph-break", "break", _compiled.reason_of(reason), [*_python_stack(), *stack])
        compiled = _compiled.kind_of(sheet)
        if compiled == _compiled.FAILED and getattr(sheet, "fail_user_frame_filename", None) is not None:
            at = (sheet.fail_user_frame_filename, sheet.fail_user_frame_lineno or 0, frame.function if frame else "")
            self._event("graph-break", "frame", _compiled.reason_of(sheet.fail_reason or ""), [*_python_stack(), at])
        attributes: dict[str, Any] = _compiled.why(sheet, compiled, self.session.sites.shown)
        if frame is None:
            self._event("compile", compiled, attributes, _python_stack(), ms)
            return
        attributes |= {"last": frame.last_line, "resumed": frame.resumed}
        at = (frame.filename, frame.line, frame.function)
        self._event("compile", compiled, attributes, [*_python_stack(), at], ms)

    def _frame(self, sheet: Any) -> _compiled.Frame | None:  # noqa: ANN401
        """What was compiled; None for what has no code of its own, such as a backward pass."""
        number = str(sheet.compile_id or "").rpartition("/")[0] if hasattr(sheet, "compile_id") else ""
        if getattr(sheet, "co_filename", None) is None:
            return self._frames.get(number)
        codes = getattr(sys.modules.get("torch._dynamo.convert_frame"), "input_codes", None)
        frame = _compiled.frame_of(sheet, getattr(codes, "seen", ()))
        self._frames[number] = frame
        return frame

    def _new_breaks(self, utils: Any) -> Iterator[tuple[str, list[_compiled.At]]]:  # noqa: ANN401
        """Those of this compilation, each once: an analysis that is restarted notes the same again."""
        known = getattr(utils, "graph_break_reasons", ())
        first = self._breaks_read if self._breaks_read <= len(known) else 0  # `torch._dynamo.reset()` clears the list
        self._breaks_read = len(known)
        seen = set()
        for noted in known[first:]:
            stack = [(at.filename, at.lineno or 0, at.name) for at in noted.user_stack]
            key = (noted.reason, tuple(stack))
            if key not in seen:
                seen.add(key)
                yield noted.reason, stack

    def _event(
        self, kind: str, what: str, attributes: dict[str, Any], stack: Iterable[_compiled.At], ms: float | None = None
    ) -> None:
        key = _compiled.spot(stack, self.session.sites)
        named = tuple(attributes.items())
        told = (kind, what, key, named)
        if told not in self._told and len(self._told) >= _MOST_TOLD_APART:
            named = ()
        self._told.add((kind, what, key, named))
        self.session.recorder.event(kind, what, ms=ms, attributes=named, key=key)


class _Sheets(deque):  # type: ignore[type-arg]
    """Dynamo's deque, which also tells of what is appended."""

    def __init__(self, known: deque[Any], tell: Callable[[Any], object]) -> None:
        super().__init__(known, known.maxlen)
        self._tell = tell

    def append(self, sheet: Any) -> None:  # noqa: ANN401
        super().append(sheet)
        self._tell(sheet)


def _python_stack() -> list[_compiled.At]:
    """Who called what is compiled, the outermost first."""
    frame = sys._getframe(1)
    found: list[_compiled.At] = []
    above = frame.f_back
    while above is not None:
        found.append((above.f_code.co_filename, above.f_lineno, above.f_code.co_name))
        above = above.f_back
    return found[::-1]
