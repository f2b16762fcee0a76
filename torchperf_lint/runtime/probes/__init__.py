"""One file per thing watched: a module with `install(session, torch) -> str | None`.

The answer is None when the probe watches, else why it cannot. The file's name, with hyphens, is the probe's name:
rules ask for probes by it. Installed in alphabetical order, once, right after the script has imported torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session


class Probe(Protocol):
    """A module of this package."""

    def install(self, session: Session, torch: Any) -> str | None:  # noqa: ANN401
        """Begin to watch; the reason where that cannot be. May raise: that is noted."""


def names() -> tuple[str, ...]:
    """All probes by name."""
    # Every watched process imports this package, most of them never ask.
    import pkgutil

    found = (info.name for info in pkgutil.iter_modules(__path__))
    return tuple(sorted(name.replace("_", "-") for name in found if not name.startswith("_")))


def load(name: str) -> Probe:
    """The probe of this name. Raises ImportError."""
    return cast(Probe, import_module(f"{__name__}.{name.replace('-', '_')}"))
