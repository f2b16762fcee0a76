"""Waits of torch's profilers, and of our window: they want their own figures right, and are none of the script's."""

from __future__ import annotations

import os
from types import FrameType

_OUTSIDE, _TORCH, _PROFILER = 0, 1, 2
_FILES = (os.path.join("autograd", "profiler.py"), os.path.join("profiler", "profiler.py"))
_OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_kineto.py")


class Profilers:
    """Tells them by the files of torch that the stack leads through."""

    def __init__(self, torch_directory: str) -> None:
        self._torch = os.path.join(torch_directory, "")
        self._kinds: dict[str, int] = {}

    def wait_in(self, frame: FrameType | None) -> bool:
        """Whether a profiler of torch waits in this frame, or has called what waits there."""
        while frame is not None:
            filename = frame.f_code.co_filename
            kind = self._kinds.get(filename)
            if kind is None:
                kind = self._kinds[filename] = self._kind(filename)
            if kind != _TORCH:
                return kind == _PROFILER
            frame = frame.f_back
        return False

    def _kind(self, filename: str) -> int:
        if not filename.startswith(self._torch):
            return _PROFILER if filename == _OURS else _OUTSIDE
        return _PROFILER if filename[len(self._torch) :] in _FILES else _TORCH
