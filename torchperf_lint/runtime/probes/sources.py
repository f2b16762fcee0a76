"""Which files of the project were imported, and what they held: path and SHA-256, once per file.

Looked up at each flush among the modules that are new since the last one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record
from torchperf_lint.runtime.sites import PROJECT

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NAME = "sources"
_MAIN = ("__main__", "__mp_main__")
"""Modules that change what they are while the name stays."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Look through the imported modules at each flush."""
    del torch
    sources = _Sources(session)
    session.restarts.append(sources.restart)
    session.recorder.sources.append(session.guarded(NAME, sources.records))
    return None


class _Sources:
    def __init__(self, session: Session) -> None:
        self.session = session
        main = sys.modules.get("__main__")
        self._main = (main, getattr(main, "__file__", None))
        """Python takes the script's `__file__` from it when it ends: one that raised early was not looked at before."""
        self.restart()

    def restart(self) -> None:
        """A forked child names its files in its own record."""
        self._modules: set[str] = set()
        self._files: set[str] = set()
        self._last: tuple[int, str | None] = (0, None)

    def records(self) -> list[Record]:
        """Files of the project not named before."""
        return [record for filename in self._new_files() if (record := self._record(filename)) is not None]

    def _new_files(self) -> Iterator[str]:
        for module in self._new_modules():
            main, file = self._main
            filename = getattr(module, "__file__", file if module is main else None)
            if isinstance(filename, str) and filename not in self._files:
                self._files.add(filename)
                if self.session.sites.kind_of(filename) == PROJECT:
                    yield filename

    def _new_modules(self) -> list[ModuleType]:
        """Modules that were not there at the last look; thousands are imported, so the common case is a glance."""
        modules = sys.modules
        now = (len(modules), next(reversed(modules), None))
        new = [modules[name] for name in _MAIN if name in modules]
        if now != self._last:
            self._last = now
            names = modules.keys() - self._modules
            self._modules |= names
            new += [modules[name] for name in sorted(names) if name in modules]
        return new

    def _record(self, filename: str) -> Record | None:
        """None for what cannot be read: a script from a zip file, or one that deleted itself."""
        try:
            with open(self.session.sites.absolute(filename), "rb") as file:
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            return None
        return {"record": "source", "path": self.session.sites.shown(filename), "sha256": digest}
