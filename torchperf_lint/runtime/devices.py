"""Which GPUs a running script uses, as it says in its events file."""

from __future__ import annotations

from torchperf_lint.events import UnreadableRecordError, read
from torchperf_lint.runtime.nvml import Gpu


def recorded_devices(events: str) -> list[Gpu] | None:
    """From the state record `gpus`: `[{"index": 0, "name": ..., "uuid": ...}]`; None until the script has said."""
    try:
        gpus = read(events).state.get("gpus")
    except (OSError, UnreadableRecordError):
        return None
    if gpus is None:
        return None
    return [Gpu(int(gpu["index"]), gpu.get("uuid"), gpu.get("name")) for gpu in gpus]
