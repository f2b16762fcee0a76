"""The warnings that torch, and what is built on it, shows by itself.

Every warning that the script's filters let through reaches `warnings._showwarnmsg`, those of C++ code as well; what
scripts replace (`showwarning`, `catch_warnings`, `logging.captureWarnings`) stands behind it, and is called as before.
What a filter keeps back, or turns into an exception, is not seen here either.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from torchperf_lint import warned
from torchperf_lint.runtime.sites import INTERNAL

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "torch-warnings"
_SHOW = "_showwarnmsg"
_FROM_CPP = "(Triggered internally at "
_MOST_LETTERS = 300
_MOST_TEXTS = 100
"""Different ones that are kept; the rest is counted."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Listen where Python shows warnings."""
    show = getattr(warnings, _SHOW, None)
    if show is None:
        return "this Python shows warnings in a way of its own"
    home = str(torch.__file__).rpartition("__init__")[0]
    listener = _Listener(session, home)
    setattr(warnings, _SHOW, _told(show, session.guarded(NAME, listener.hear)))
    return None


def _told(show: Callable[[Any], None], hear: Callable[[Any], object]) -> Callable[[Any], None]:
    @functools.wraps(show)
    def showwarnmsg(message: Any) -> None:  # noqa: ANN401
        hear(message)
        show(message)

    return showwarnmsg


class _Listener:
    def __init__(self, session: Session, home: str) -> None:
        self.session = session
        self._home = home
        """Where torch lies."""
        self._texts: set[str] = set()

    def hear(self, message: Any) -> None:  # noqa: ANN401
        """Note one warning, at the line of the script that led to it."""
        whole = str(message.message)
        text = first_line(whole)
        category = getattr(message.category, "__name__", "Warning")
        if not (self._is_torchs(whole) or warned.about(text)) or not self._may_keep(text):
            self.session.recorder.event("warning", "other")
            return
        self.session.recorder.event("warning", category, attributes=(("text", text),))

    def _is_torchs(self, text: str) -> bool:
        """Whether torch itself has called `warnings.warn`, or its C++ part did."""
        if _FROM_CPP in text:
            return True
        frame = sys._getframe(1)
        while frame.f_back is not None and self._is_on_the_way(frame.f_code.co_filename):
            frame = frame.f_back
        return frame.f_code.co_filename.startswith(self._home)

    def _is_on_the_way(self, filename: str) -> bool:
        """Frames of ours, and of the module `warnings`."""
        return not filename.startswith(self._home) and self.session.sites.kind_of(filename) == INTERNAL

    def _may_keep(self, text: str) -> bool:
        if text in self._texts:
            return True
        if len(self._texts) >= _MOST_TEXTS:
            return False
        self._texts.add(text)
        return True


def first_line(text: str) -> str:
    """What a reader sees first, without the place in torch's C++ code, which is that of the machine that built it."""
    shown = text.partition(_FROM_CPP)[0]
    line = next((line for line in shown.splitlines() if line.strip()), "")
    return " ".join(line.split())[:_MOST_LETTERS]
