"""Checkpoints: what waits and copies within `torch.save`, and within what safetensors has in its place.

A script that is run for a few steps to be looked at saves as often as one that trains for days, so that a checkpoint's
copies, one for each parameter, would look like the main thing; and a checkpoint ends an evaluation (aftermath.py).
"""

from __future__ import annotations

import functools
from threading import get_ident
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "saving"
_SAFETENSORS = ("save", "save_file")


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Know which thread saves."""
    ours = _told(session, torch.save)
    torch.save = torch.serialization.save = ours
    session.after_import("safetensors.torch", lambda module: _replace(session, module, _SAFETENSORS))
    session.restarts.append(session.recorder.saving.clear)
    return None


def _replace(session: Session, module: Any, names: tuple[str, ...]) -> None:  # noqa: ANN401
    for name in names:
        if hasattr(module, name):
            setattr(module, name, _told(session, getattr(module, name)))


def _told(session: Session, original: Any) -> Any:  # noqa: ANN401
    recorder, timeline = session.recorder, session.timeline

    def saves(thread: int) -> None:
        if timeline.is_training(thread):
            with recorder.lock:
                recorder.scopes.saves()

    begins = session.guarded(NAME, saves)

    @functools.wraps(original)
    def save(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        thread = get_ident()
        if thread in recorder.saving:
            return original(*args, **kwargs)
        recorder.later(begins, thread)
        recorder.saving.add(thread)
        try:
            return original(*args, **kwargs)
        finally:
            recorder.saving.discard(thread)

    return save
