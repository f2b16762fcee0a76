"""Kineto, torch's profiler, for a few steps: begins, ends, and hands out what it recorded as plain tuples.

Only what CUPTI sees and our own marks are recorded, no operators: the host works at its usual speed meanwhile. torch's
own binding is used rather than `torch.profiler`, which would tell the script's code that a profiler is on.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from time import time_ns
from typing import Any

from torchperf_lint.activities import ON_DEVICE, PREFIX, Activity, kind_of
from torchperf_lint.runtime.probes._detaching import detaching

_LOG_LEVEL = "KINETO_LOG_LEVEL"
_QUIET = "6"
"""Above every level of Kineto's, which says on standard error when it starts and stops. It reads this once."""
_BYTES = re.compile(r'"bytes":\s*(\d+)')


def why_not(torch: Any) -> str | None:  # noqa: ANN401
    """What this torch lacks; None where it has all that a window needs."""
    if not all(hasattr(torch.autograd, name) for name in _NEEDED) or not torch.profiler.kineto_available():
        return f"torch {torch.__version__} has no Kineto, or another than this version knows"
    return None


def is_on(torch: Any) -> bool:  # noqa: ANN401
    """Whether a profiler of torch records this thread, or somebody has begun one by torch's classes."""
    return bool(torch.autograd._profiler_enabled()) or bool(
        getattr(torch.autograd.profiler, "_is_profiler_enabled", False)
    )


_NEEDED = (
    "_prepare_profiler",
    "_enable_profiler",
    "_disable_profiler",
    "_profiler_enabled",
    "_record_function_with_args_enter",
    "_record_function_with_args_exit",
)


class Kineto:
    """One recording, on the thread that begins it."""

    def __init__(self, torch: Any, on_device: bool) -> None:  # noqa: ANN401
        """`on_device`: with CUPTI; else marks of the host alone."""
        self.torch = torch
        self._on_device = on_device
        self._enter = torch.autograd._record_function_with_args_enter
        self._exit = torch.autograd._record_function_with_args_exit
        self.base_ns = 0
        """When it began, since 1970; what was recorded is counted from then."""

    def begin(self) -> None:
        """From here on. Raises what torch raises where CUPTI is taken or missing."""
        torch = self.torch
        profiler = torch._C._profiler
        activity = profiler.ProfilerActivity
        activities = {activity.CPU, activity.CUDA} if self._on_device else {activity.CPU}
        config = torch.autograd.profiler.profile(use_cpu=True, use_kineto=True, experimental_config=_with_syncs(torch))
        told = config.config()
        self.base_ns = time_ns()
        with _quiet():
            torch.autograd._prepare_profiler(told, activities)
            torch.autograd._enable_profiler(told, activities, {profiler.RecordScope.USER_SCOPE})

    def mark(self, name: str) -> None:
        """Leave a mark here and now, on any thread that is recorded."""
        self._exit(self._enter(PREFIX + name))

    def wait(self) -> None:
        """Let the device finish what is queued, so that it is in the record. Our own wait: `_profilers` knows it."""
        if self._on_device:
            self.torch.cuda.synchronize()

    def end(self, *, detach: bool = False) -> list[Activity]:
        """Stop, and what was recorded, by start. `detach`: the run goes on, and should at its usual speed."""
        leaving = detaching(self.torch) if detach and self._on_device else nullcontext()
        with _quiet(), leaving:
            found = self.torch.autograd._disable_profiler()
        if found is None:
            return []
        return sorted(_read(found.events(), self.torch.autograd.DeviceType.CPU, self.base_ns), key=lambda a: a.start)


def _with_syncs(torch: Any) -> Any:  # noqa: ANN401
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True)
    except TypeError:  # before torch 2.2: the waits are there as calls of the host
        return torch._C._profiler._ExperimentalConfig()


def _read(events: list[Any], host: Any, base_ns: int) -> Iterator[Activity]:  # noqa: ANN401
    has_types = bool(events) and hasattr(events[0], "activity_type")
    in_ns = bool(events) and hasattr(events[0], "start_ns")
    for event in events:
        name, on_device = event.name(), event.device_type() != host
        kind = kind_of(name, on_device, event.activity_type() if has_types else None)
        if kind is None:
            continue
        start = ((event.start_ns() if in_ns else event.start_us() * 1000) - base_ns) / 1000
        lasted = event.duration_ns() / 1000 if in_ns else float(event.duration_us())
        nbytes = _bytes(event) if kind == "copy" else None
        device = event.device_index() if kind in ON_DEVICE else 0
        yield Activity(
            kind, name, start, start + lasted, event.device_resource_id(), event.correlation_id(), nbytes, device
        )


def _bytes(copy: Any) -> int | None:  # noqa: ANN401
    """What CUPTI says of a copy, in torch versions that hand it on."""
    said = _BYTES.search(copy.metadata_json()) if hasattr(copy, "metadata_json") else None
    return int(said.group(1)) if said is not None else None


@contextmanager
def _quiet() -> Iterator[None]:
    """A script's own choice stays; the environment is as it was afterwards."""
    if _LOG_LEVEL in os.environ:
        yield
        return
    os.environ[_LOG_LEVEL] = _QUIET
    try:
        yield
    finally:
        os.environ.pop(_LOG_LEVEL, None)
