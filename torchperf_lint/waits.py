"""A place where the host waited for the device."""

from __future__ import annotations

from dataclasses import dataclass

COPY = "copy"
"""What waits for a copy to end; a real device does not tell."""
OF_INDEX = "index_gradient"
"""Attribute of a copy, and of its wait, that takes the index of `x[rows]` to the device again, for its gradient."""
GRADIENT = "gradient"
"""Attribute of a wait or copy within autograd's own formula for the gradient of an operation: its name, "cumprod"."""
FORWARD = "forward"
"""Attribute of such a wait or copy in a record: the site where the forward pass called that operation."""
CHECKPOINT = "checkpoint"
"""Attribute of a wait or copy that saves a checkpoint: within `torch.save`, or what safetensors has in its place."""
IN_SEARCH = "anomaly-mode"
"""What waits within backward passes that search their gradients for NaN (autograd's anomaly detection)."""


@dataclass(frozen=True)
class SyncSite:
    """Where the host waited for the device, within a block that was watched for it."""

    path: str
    """POSIX, relative to the working directory when inside it; empty where no line of Python stands behind the wait."""
    line: int
    """1-based; 0 where `path` is empty."""
    what: str
    """What waited: "item", "nonzero", "copy to host"; with a real device "stream", "event" or "device"."""
    count: int
    function: str = ""
    via: tuple[str, int] | None = None
    """The line of one's own code that led there, where the place is in an installed package."""
