"""Who else profiles, or would be harmed by our profiling: then there is no window.

CUPTI serves one; a profiler of torch that starts within another silently ends it. So the script's comes first: where
it has begun one, no window is opened, and where it begins one within our window, ours gives way and is thrown away.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

_ENVIRONMENT = {
    "NSYS_PROFILING_SESSION_ID": "Nsight Systems profiles this run",
    "KINETO_USE_DAEMON": "Kineto waits for requests of a daemon in this run",
}
_STARTERS = (
    ("torch.autograd.profiler", "_prepare_profiler"),
    ("torch.autograd.profiler", "_enable_profiler"),
    ("torch.autograd.profiler_legacy", "_enable_profiler_legacy"),
)
"""By these names torch's own profilers start: torch.profiler, autograd's, emit_nvtx, emit_itt and the legacy one."""


class Rivals:
    """Hears of profilers that the script starts, from when it is made until `let_go`."""

    def __init__(self, guarded: Callable[[Callable[[], object]], Callable[[], object]]) -> None:
        """`guarded`: keeps exceptions of ours from the script."""
        self.started = False
        """Whether the script has begun a profiler."""
        self.on_start: Callable[[], object] | None = None
        """Called before the script's profiler starts."""
        self._tell = guarded(self._told)
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        for module_name, name in _STARTERS:
            module = sys.modules.get(module_name)
            original = getattr(module, name, None)
            if original is not None:
                ours = self._telling(original)
                setattr(module, name, ours)
                self._replaced.append((module, name, original, ours))

    def _telling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        tell = self._tell

        @functools.wraps(original)
        def start(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            tell()
            return original(*args, **kwargs)

        return start

    def _told(self) -> None:
        self.started = True
        if self.on_start is not None:
            self.on_start()

    def let_go(self) -> None:
        """Take our hands off torch's names, unless somebody else has put theirs on since."""
        for module, name, original, ours in self._replaced:
            if getattr(module, name, None) is ours:
                setattr(module, name, original)
        self._replaced.clear()


def in_the_way(torch: Any) -> str | None:  # noqa: ANN401
    """Why this process should not be profiled by us; None where nothing speaks against it."""
    for name, why in _ENVIRONMENT.items():
        if os.environ.get(name):
            return why
    if _uses_graphs(torch):
        return "CUDA graphs are in use, which a profiler that starts later may break"
    return None


def _uses_graphs(torch: Any) -> bool:  # noqa: ANN401
    """torch itself keeps CUPTI from starting anew where there are graphs (torch/profiler/profiler.py)."""
    graph = getattr(getattr(torch.cuda, "graphs", None), "graph", None)
    if getattr(graph, "default_capture_stream", None) is not None:
        return True
    trees = getattr(sys.modules.get("torch._inductor.cudagraph_trees"), "local", None)
    return bool(getattr(trees, "tree_manager_containers", None))
