"""CUPTI, taken off the process once a window is over: while it stays, every later call of CUDA costs more.

Kineto loads CUPTI for a recording and leaves it attached, unless the environment asks for its removal (PyTorch issue
144455). CUDA graphs did not survive that before CUDA 12.6, so older ones keep it. Kineto removes it on a thread of its
own, from within the next call of CUDA: it is waited for here, or a profiler that the script starts right after us would
lose what it records.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter, sleep
from typing import Any

_SWITCH = "TEARDOWN_CUPTI"
"""Kineto's own; a script's choice stays."""
_SINCE = (12, 6)
_PATIENCE_S = 0.2
_PAUSE_S = 0.0005
_THREADS = "/proc/self/task"


@contextmanager
def detaching(torch: Any) -> Iterator[None]:  # noqa: ANN401
    """A recording that ends within leaves no CUPTI behind, where that is safe; the environment is as it was after."""
    if _SWITCH in os.environ or not _survives(torch):
        yield
        return
    before = _threads()
    os.environ[_SWITCH] = "1"
    try:
        yield
        _wait_for(_threads() - before, torch)
    finally:
        os.environ.pop(_SWITCH, None)


def _survives(torch: Any) -> bool:  # noqa: ANN401
    """Whether CUDA graphs do, and we can see the thread that removes it."""
    version = str(torch.version.cuda or "").split(".")[:2]
    return all(part.isdigit() for part in version) and tuple(map(int, version)) >= _SINCE and bool(_threads())


def _wait_for(working: frozenset[str], torch: Any) -> None:  # noqa: ANN401
    """Until these threads have ended; some call of CUDA's runtime must be under way for them to go on."""
    stream, until = torch.cuda.current_stream(), perf_counter() + _PATIENCE_S
    while working & _threads() and perf_counter() < until:
        stream.query()
        sleep(_PAUSE_S)


def _threads() -> frozenset[str]:
    """The threads of this process by the kernel's number; none where the kernel does not tell."""
    try:
        return frozenset(os.listdir(_THREADS))
    except OSError:
        return frozenset()
