"""Calls back when a module has been imported, without importing it, and leaves no trace in it.

Only what the interpreter has loaded anyway is imported here: this runs before every watched script.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

Callback = Callable[[Any], object]
OnError = Callable[[Exception], object]


def after_import(name: str, callback: Callback, on_error: OnError | None = None) -> None:
    """Calls `callback(module)` right after module `name` has been executed; at once if that is behind us.

    Once per call of this function, on the thread that imports. An import that fails leaves the callback waiting for
    the next attempt. Waited for in vain are a namespace package, which executes nothing, and a module whose import
    began before it was first asked for and has not ended.
    What the callback raises goes to `on_error` and never to the script.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        _call(callback, module, on_error)
        return
    _FINDER.wait(name, callback, on_error)


class _Finder:
    """Finds what the other finders find, and has the loader tell us when it has executed a module we wait for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[Callback, OnError | None]]] = {}
        self._searching = threading.local()

    def wait(self, name: str, callback: Callback, on_error: OnError | None) -> None:
        with self._lock:
            self._waiting.setdefault(name, []).append((callback, on_error))
            if self not in sys.meta_path:
                sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec that Python would have used, its loader prepared for this one import."""
        if name not in self._waiting or name in vars(self._searching):
            return None
        vars(self._searching)[name] = True
        try:
            spec = _search(self, name, path, target)
        finally:
            del vars(self._searching)[name]
        if spec is not None and hasattr(spec.loader, "exec_module"):
            _prepare(spec)
        return spec

    def executed(self, name: str, module: ModuleType) -> None:
        """Calls back whoever waits for `name`, once; takes the finder away with the last of them."""
        # A callback may ask for the same module again: it is still being imported, as Python sees it.
        while callbacks := self._take(name):
            for callback, on_error in callbacks:
                _call(callback, sys.modules.get(name, module), on_error)

    def _take(self, name: str) -> list[tuple[Callback, OnError | None]]:
        with self._lock:
            callbacks = self._waiting.pop(name, [])
            if not self._waiting and self in sys.meta_path:
                sys.meta_path.remove(self)
        return callbacks


def _search(ours: _Finder, name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if finder is ours or find is None:
            continue
        spec: ModuleSpec | None = find(name, path, target)
        if spec is not None:
            return spec
    return None


def _prepare(spec: ModuleSpec) -> None:
    """Puts an `exec_module` on the loader itself; on a stand-in where the loader is a class or takes no attributes."""
    loader: Any = spec.loader
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        if module.__name__ == spec.name:
            restore(module)
        execute(module)
        if module.__name__ == spec.name:
            _FINDER.executed(spec.name, module)

    def restore(module: ModuleType) -> None:
        if vars(holder).get("exec_module") is hook:
            del holder.exec_module
        if holder is not loader:
            spec.loader = module.__loader__ = loader

    hook = _as_machinery(exec_module)
    holder: Any = loader
    try:
        if isinstance(loader, type):
            raise AttributeError
        holder.exec_module = hook
    except AttributeError:
        holder = spec.loader = cast("Any", _StandIn(loader))
        holder.exec_module = hook


class _StandIn:
    """Stands on the spec for a loader that cannot be changed, until the module starts to execute."""

    def __init__(self, loader: object) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 -- whatever the loader has
        return getattr(self._loader, name)


def _as_machinery(function: Any) -> Callback:  # noqa: ANN401 -- a function: what has __code__
    """Python leaves frames of this file name out of tracebacks and of the stack levels of warnings, as its own."""
    function.__code__ = function.__code__.replace(co_filename="<frozen importlib._bootstrap>")
    ours: Callback = function
    return ours


def _call(callback: Callback, module: ModuleType, on_error: OnError | None) -> None:
    try:
        callback(module)
    except Exception as error:  # noqa: BLE001 -- the border to the user's run
        if on_error is not None:
            on_error(error)


_FINDER = _Finder()
