"""`gc.collect()` of all generations: where it is called, and how long it takes.

Names bound before torch was imported (`from gc import collect`) are not seen.
"""

from __future__ import annotations

import functools
import gc
from time import perf_counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "collector"
_ALL = 2


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Count full collections that are asked for; those that Python begins by itself do not come this way."""
    del torch
    original = gc.collect

    def count(started: float) -> None:
        session.recorder.event("collect", "all", ms=(perf_counter() - started) * 1000)

    count_guarded = session.guarded(NAME, count)

    @functools.wraps(original)
    def collect(generation: int = _ALL) -> int:
        started = perf_counter()
        found = original(generation)
        if generation == _ALL:
            count_guarded(started)
        return found

    gc.collect = collect
    return None
