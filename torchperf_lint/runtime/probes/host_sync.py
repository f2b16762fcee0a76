"""Where the host waits for the device, and how long: torch's own callbacks before each synchronisation.

`torch.cuda._gpu_trace` calls back from C++ before the host waits for a stream, an event or the whole device, on
whatever thread: `.item()`, `bool()`, blocking copies, `nonzero`, mask indexing, `torch.cuda.synchronize()`. It does
not see what calls CUDA directly, the allocator's own waits, or copies from pageable memory with `non_blocking=True`.

The time is from the callback until the interpreter goes on (see `_resuming`): waits on the main thread, outside of
`backward()`, have a time; for others it is None. Where one C call waits and then works on (a scripted module), the
work is in the time: it is an upper bound. `set_sync_debug_mode("warn")`, which could tell the end of a wait, is left
to the script: in operators of C++ extensions its warnings go straight to the terminal.
"""

from __future__ import annotations

import atexit
import operator
import os
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from types import FrameType
from typing import TYPE_CHECKING, Any

from torchperf_lint.runtime.probes import _cuda, _waits
from torchperf_lint.runtime.probes._resuming import on_resume, raising_on_resume

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session
    from torchperf_lint.runtime.sites import Key

NAME = "host-sync"
_MODULES = (("torch.cuda._gpu_trace", ""), ("torch.utils._cuda_trace", "CUDA"))
"""Where the callbacks are registered, with the prefix of their names; the second until about torch 2.3."""
_ACTIVATIONS = ("_activate_gpu_trace", "_activate_cuda_trace")
_WATCHED = {"Stream": "stream", "Event": "event", "Device": "device"}
_UNWATCHED: dict[str, Callable[..., object]] = {
    "MemoryAllocation": operator.truth,
    "MemoryDeallocation": operator.truth,
    "EventCreation": operator.truth,
    "EventDeletion": operator.truth,
    "StreamCreation": operator.truth,
    "EventRecord": operator.is_,
    "EventWait": operator.is_,
}
"""What else calls back, and a C function that takes the same arguments and does nothing, to keep it cheap."""
_OUTSIDE, _TORCH, _PROFILER = 0, 1, 2
_PROFILER_FILES = (os.path.join("autograd", "profiler.py"), os.path.join("profiler", "profiler.py"))
_ENGINE_FILES = (os.path.join("autograd", "graph.py"), os.path.join("autograd", "__init__.py"))
_ENGINE_FUNCTIONS = ("_engine_run_backward", "backward", "grad")


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Have torch call back before each wait; the simulated device reports its own."""
    if session.simulated:
        return None
    if not _cuda.is_built(torch):
        return _cuda.NO_CUDA
    trace = _Trace.of(torch)
    if trace is None:
        return f"torch {torch.__version__} has no callbacks for synchronisations (2.0 or later has)"
    syncs = Syncs(session, os.path.dirname(torch.__file__))
    session.restarts.append(syncs.restart)
    atexit.register(syncs.stop_timing)

    def begin() -> None:
        trace.watch(syncs.about_to_wait)
        trace.activate()

    return _cuda.watch_once_opened(session, torch, NAME, begin)


class _Trace:
    """torch's registries of callbacks. Their activation cannot be undone."""

    def __init__(self, module: Any, prefix: str, activate: Callable[[], None]) -> None:  # noqa: ANN401
        self.module = module
        self.prefix = prefix
        self.activate = activate

    @classmethod
    def of(cls, torch: Any) -> _Trace | None:  # noqa: ANN401
        activate = next((getattr(torch._C, name) for name in _ACTIVATIONS if hasattr(torch._C, name)), None)
        for name, prefix in _MODULES:
            try:
                module = import_module(name)
            except ImportError:
                continue
            return cls(module, prefix, activate) if activate is not None else None
        return None

    def watch(self, about_to_wait: Callable[[str, FrameType | None], object]) -> None:
        """Call `about_to_wait(what, frame)` before each wait, and nothing for the rest."""
        for name, what in _WATCHED.items():
            _hook(self._registry(f"{name}Synchronization"), what, about_to_wait)
        for name, nothing in _UNWATCHED.items():
            _silence(self._registry(name), nothing)

    def _registry(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.module, f"{self.prefix}{name}Callbacks", None)


def _hook(registry: Any, what: str, about_to_wait: Callable[[str, FrameType | None], object]) -> None:  # noqa: ANN401
    """C++ looks `fire_callbacks` up at each event. Whoever has registered callbacks of their own keeps them."""
    others = registry.fire_callbacks

    def fire_callbacks(*args: Any) -> None:  # noqa: ANN401
        if registry.callback_list:
            others(*args)
        # What is kept here dies with this frame, the last one before the wait, and acts once the interpreter goes on.
        try:
            _kept = about_to_wait(what, sys._getframe().f_back)
        except BaseException as error:  # noqa: BLE001 -- a signal's handler raised: it is the script's, and C++ drops it
            _kept = raising_on_resume(error)

    registry.fire_callbacks = fire_callbacks


def _silence(registry: Any, nothing: Callable[..., object]) -> None:  # noqa: ANN401
    """Events that nobody listens to cost a C call; whoever registers a callback later (CUDA's sanitizer) gets them."""
    if registry is None or registry.callback_list:
        return
    add = registry.add_callback

    def add_callback(callback: Callable[..., None]) -> None:
        vars(registry).pop("fire_callbacks", None)
        add(callback)

    registry.fire_callbacks = nothing
    registry.add_callback = add_callback


class Syncs:
    """Counts waits, and times those of the main thread."""

    def __init__(self, session: Session, torch_directory: str) -> None:
        self.session = session
        self.waits = _waits.of(session)
        self.about_to_wait = session.guarded(NAME, self._about_to_wait)
        self._asking = on_resume(session.guarded(NAME, self._resumed))
        self._torch = os.path.join(torch_directory, "")
        self._kinds: dict[str, int] = {}
        self.restart()

    def restart(self) -> None:
        """A forked child: its only thread is its main thread."""
        self._main = threading.main_thread().ident
        self._begun: tuple[str, Key | None, float] | None = None

    def stop_timing(self) -> None:
        """The interpreter ends: it may not come back to us any more."""
        self._asking = None

    def _about_to_wait(self, what: str, frame: FrameType | None) -> object:
        """Called before the wait, with the frame whose C call waits; None on threads that run no Python."""
        recorder = self.session.recorder
        if recorder.muted or self._is_profilers(frame):
            return None
        key = self.session.sites.key()
        if self._asking is None or threading.get_ident() != self._main or self._is_engine(frame):
            recorder.event("sync", what, key=key)
            return None
        now = perf_counter()
        self._ended(now)
        self._begun = (what, key, now)
        return self._asking()

    def _resumed(self) -> None:
        self._ended(perf_counter())

    def _ended(self, now: float) -> None:
        """The wait is over; if the same C call waits once more, its first wait ends where the second begins."""
        begun, self._begun = self._begun, None
        if begun is not None:
            what, key, since = begun
            ms = (now - since) * 1000
            self.session.recorder.event("sync", what, ms=ms, key=key)
            self.waits.waited(ms)

    def _is_engine(self, frame: FrameType | None) -> bool:
        """Whether autograd's engine waits: it goes on with the rest of the backward pass before it returns."""
        if frame is None:
            return True
        code = frame.f_code
        return code.co_name in _ENGINE_FUNCTIONS and code.co_filename.endswith(_ENGINE_FILES)

    def _is_profilers(self, frame: FrameType | None) -> bool:
        """Whether a profiler of torch waits, to have its own figures right."""
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
            return _OUTSIDE
        return _PROFILER if filename[len(self._torch) :] in _PROFILER_FILES else _TORCH
