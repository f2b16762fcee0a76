"""Files with functions that run in another form than their lines: what Dynamo or TorchScript has compiled."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session


class Unseen:
    """Holds a file name when lines of the file may have run unseen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._compiled = False
        self._known = -1
        self._scripted: frozenset[str] = frozenset()

    def __contains__(self, filename: str) -> bool:
        """Once Dynamo has compiled anything, whatever it inlined may be of any file."""
        self._compiled = self._compiled or _has_compiled()
        return self._compiled or filename in self._scripted_files()

    def _scripted_files(self) -> frozenset[str]:
        state = sys.modules.get("torch.jit._state")
        functions = getattr(state, "_jit_caching_layer", ())
        classes = getattr(sys.modules.get("torch.jit._recursive"), "concrete_type_store", None)
        types = getattr(classes, "type_store", ())
        if len(functions) + len(types) != self._known:
            self._known = len(functions) + len(types)
            self._scripted = frozenset(_files(functions, types))
        return self._scripted


def _has_compiled() -> bool:
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", {})
    return bool(counters.get("frames", {}).get("total"))


def _files(functions: Any, types: Any) -> Iterator[str]:  # noqa: ANN401
    for function in list(functions):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield code.co_filename
    for cls in list(types):
        filename = getattr(sys.modules.get(cls.__module__), "__file__", None)
        if filename is not None:
            yield filename
