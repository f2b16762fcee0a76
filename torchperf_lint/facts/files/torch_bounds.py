"""Which releases of torch a project runs on, as far as it says."""

from __future__ import annotations

from typing import NamedTuple

Release = tuple[int, int]
"""(major, minor)."""


class TorchBounds(NamedTuple):
    """What a project says of torch; None where it does not say."""

    oldest: Release | None = None
    """The oldest that it must run on: what is pinned, or the newest below an upper bound."""
    admitted: Release | None = None
    """The oldest that it may be installed with, by a lower bound or a pin: `torch>=1.8`."""


ANY_TORCH = TorchBounds()
"""Whatever is current."""
