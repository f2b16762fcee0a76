"""What ended the script, where it raised: `ModuleNotFoundError: No module named 'timm'` at `train.py:12`. Torch-free.

Python keeps an exception that nobody caught for whoever asks afterwards (`sys.last_value`), so nothing is put in the
place of `sys.excepthook`. Others than the main thread's are not of interest: the script goes on.
"""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING

from torchperf_lint.events import redacted
from torchperf_lint.runtime.sites import PROJECT

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

_MOST = 200
"""Characters of what it says."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
"""What colours a terminal: torch says some of its errors in bold."""
_WITHIN = "Traceback (most recent call last)"
"""Errors of worker processes have the whole traceback of the worker's in theirs."""


def note_what_ended(session: Session) -> None:
    """To be called when the interpreter ends."""
    error = getattr(sys, "last_value", None)
    if isinstance(error, Exception) and not _is_of_console(error):
        session.recorder.state("raised", said(error))
        session.recorder.state("raised_at", _place(session, error.__traceback__))


def _is_of_console(error: Exception) -> bool:
    """Whether a console within the script has shown it (`code.interact`), after which the script went on."""
    trace = error.__traceback__
    return trace is not None and trace.tb_frame.f_globals.get("__name__") in ("code", "__console__")


def said(error: Exception) -> str:
    """The first line of what it says, without what looks like a secret; of a traceback of another process, the last."""
    try:
        lines = _ESCAPES.sub("", str(error)).strip().splitlines()
    except Exception:  # noqa: BLE001 -- the script's own `__str__`
        lines = []
    line = next(iter(lines), "")
    if any(_WITHIN in line for line in lines):
        line = lines[-1]
    text = " ".join(redacted(line.split()))
    text = text if len(text) <= _MOST else f"{text[:_MOST].rstrip()}..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _place(session: Session, trace: TracebackType | None) -> tuple[str, int] | None:
    """The innermost line of the project's; None where there is none, as where the script does not parse."""
    found = None
    while trace is not None:
        filename = trace.tb_frame.f_code.co_filename
        if session.sites.kind_of(filename) == PROJECT:
            found = session.sites.shown(filename), trace.tb_lineno
        trace = trace.tb_next
    return found
