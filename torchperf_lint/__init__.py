"""A static and runtime linter for what makes PyTorch slow.

In code and tests: `no_syncs()` and `watch()`, and `simulate()` where there is no GPU. They are imported when first
asked for, so that importing this package stays cheap.
"""

from __future__ import annotations

TYPE_CHECKING = False  # known to type checkers by its name; `typing` itself is dear at the start
if TYPE_CHECKING:
    from torchperf_lint.errors import AlreadyWatchedError as AlreadyWatchedError
    from torchperf_lint.errors import CannotSeeSyncsError as CannotSeeSyncsError
    from torchperf_lint.errors import SyncsFoundError as SyncsFoundError
    from torchperf_lint.runtime.guarding import no_syncs as no_syncs
    from torchperf_lint.runtime.simulating import simulate as simulate
    from torchperf_lint.runtime.watching import watch as watch
    from torchperf_lint.waits import SyncSite as SyncSite

__version__ = "0.1.0"
_PLACES = {
    "AlreadyWatchedError": "errors",
    "CannotSeeSyncsError": "errors",
    "SyncSite": "waits",
    "SyncsFoundError": "errors",
    "no_syncs": "runtime.guarding",
    "simulate": "runtime.simulating",
    "watch": "runtime.watching",
}
"""Public name -> the module of ours that has it."""


def __getattr__(name: str) -> object:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    # Named by text: the static half imports this package, and must not depend on what watches runs.
    value = globals()[name] = getattr(import_module(f"{__name__}.{place}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES})
