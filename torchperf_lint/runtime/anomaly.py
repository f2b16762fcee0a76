"""Waits of a backward pass that searches its gradients for NaN: autograd's anomaly detection."""

from __future__ import annotations

import os
from types import FrameType
from typing import Any

_ENGINE_FILES = (os.path.join("autograd", "graph.py"), os.path.join("autograd", "__init__.py"))
_ENGINE_FUNCTIONS = ("_engine_run_backward", "backward", "grad")


def looks_for_nan(torch: Any) -> bool:  # noqa: ANN401 -- the module
    """Whether backward passes search their gradients now; a mode that only keeps stack traces (torch 2.0) does not."""
    checks = getattr(torch, "is_anomaly_check_nan_enabled", lambda: True)
    return bool(torch.is_anomaly_enabled() and checks())


def is_of_engine(frame: FrameType | None) -> bool:
    """Whether autograd's engine itself is what waits in this frame: none of Python on its threads, or the call of it.
    """
    if frame is None:
        return True
    code = frame.f_code
    return code.co_name in _ENGINE_FUNCTIONS and code.co_filename.endswith(_ENGINE_FILES)
