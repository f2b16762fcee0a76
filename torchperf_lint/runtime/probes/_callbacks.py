"""torch's own callbacks before each wait for the device, from C++ and on whatever thread."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import FrameType
from typing import Any, TypeAlias

from torchperf_lint.runtime.probes._quiet import Quiet
from torchperf_lint.runtime.probes._resuming import raising_on_resume

_First: TypeAlias = "list[Callable[[], None]]"

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
_KEPT = "StreamCreation"
"""A call each for the few streams that there are; nothing is done to have one made."""


class Trace:
    """torch's registries of callbacks. Their activation cannot be undone."""

    def __init__(self, module: Any, prefix: str, activate: Callable[[], None], torch: Any = None) -> None:  # noqa: ANN401
        self.module = module
        self.prefix = prefix
        self.activate = activate
        self.torch = torch
        self._quiet: Quiet | None = None
        self._first = [self._quieten] if torch is not None else []
        """What is still to be done at the first wait: only then is it certain that the current device is in use."""

    @classmethod
    def of(cls, torch: Any) -> Trace | None:  # noqa: ANN401
        activate = next((getattr(torch._C, name) for name in _ACTIVATIONS if hasattr(torch._C, name)), None)
        for name, prefix in _MODULES:
            try:
                module = import_module(name)
            except ImportError:
                continue
            return cls(module, prefix, activate, torch) if activate is not None else None
        return None

    def watch(self, about_to_wait: Callable[[str, FrameType | None], object]) -> None:
        """Call `about_to_wait(what, frame)` before each wait, and nothing for the rest."""
        for name, what in _WATCHED.items():
            _hook(self._registry(f"{name}Synchronization"), what, about_to_wait, self._first)
        self._silence_the_rest()

    def add(self, about_to_wait: Callable[[str], object]) -> Callable[[], None]:
        """Call `about_to_wait(what)` before each wait besides whoever watches, until the answer is called."""
        added = []
        for name, what in _WATCHED.items():
            registry = self._registry(f"{name}Synchronization")
            callback = _of(what, about_to_wait, self._first)
            registry.add_callback(callback)
            added.append((registry.callback_list, callback))
        self._silence_the_rest()

        def remove() -> None:
            for callbacks, callback in added:
                callbacks.remove(callback)

        return remove

    def _silence_the_rest(self) -> None:
        for name, nothing in _UNWATCHED.items():
            _silence(self._registry(name), nothing, self._listened_to)

    def _quieten(self) -> None:
        """Nothing of the rest comes as far as Python any more, unless somebody listens to some of it."""
        registries = {name: self._registry(name) for name in _UNWATCHED if name != _KEPT}
        if any(registry is None or registry.callback_list for registry in registries.values()):
            return
        quiet = Quiet.of(self.torch, registries)
        if quiet is not None and quiet.begin():
            self._quiet = quiet

    def _listened_to(self) -> None:
        quiet, self._quiet = self._quiet, None
        if quiet is not None:
            quiet.end()

    def _registry(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.module, f"{self.prefix}{name}Callbacks", None)


def _of(what: str, about_to_wait: Callable[[str], object], first: _First) -> Callable[..., None]:
    def callback(*_: Any) -> None:  # noqa: ANN401
        if first:
            _do(first)
        about_to_wait(what)

    return callback


def _do(first: _First) -> None:
    """On the main thread: another may end while it is at it."""
    if threading.current_thread() is threading.main_thread():
        first.pop()()


def _hook(
    registry: Any,  # noqa: ANN401
    what: str,
    about_to_wait: Callable[[str, FrameType | None], object],
    first: _First,
) -> None:
    """C++ looks `fire_callbacks` up at each event. Whoever has registered callbacks of their own keeps them."""
    others = registry.fire_callbacks

    def fire_callbacks(*args: Any) -> None:  # noqa: ANN401
        if registry.callback_list:
            others(*args)
        # What is kept here dies with this frame, the last one before the wait, and acts once the interpreter goes on.
        try:
            if first:
                _do(first)
            _kept = about_to_wait(what, sys._getframe().f_back)
        except BaseException as error:  # noqa: BLE001 -- a signal's handler raised: it is the script's, and C++ drops it
            _kept = raising_on_resume(error)

    registry.fire_callbacks = fire_callbacks


def _silence(registry: Any, nothing: Callable[..., object], listened_to: Callable[[], None]) -> None:  # noqa: ANN401
    """Events that nobody listens to cost a C call; whoever registers a callback later (CUDA's sanitizer) gets them."""
    if registry is None or registry.callback_list:
        return
    add = registry.add_callback

    def add_callback(callback: Callable[..., None]) -> None:
        vars(registry).pop("fire_callbacks", None)
        listened_to()
        add(callback)

    registry.fire_callbacks = nothing
    registry.add_callback = add_callback
