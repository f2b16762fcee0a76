"""Whether this process uses a CUDA device, found out without opening one.

`torch.cuda.is_available()` may open the driver, which forbids forked children to use it and freezes
CUDA_VISIBLE_DEVICES; so nothing is asked, and torch calls us when the script itself opens a device.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchperf_lint.runtime.session import Session

NO_CUDA = "this build of torch has no CUDA; --simulate shows what a device would"
NOT_OPENED = "the script has opened no CUDA device"


def is_built(torch: Any) -> bool:  # noqa: ANN401
    """Whether this torch can drive a CUDA (or ROCm) device at all."""
    return hasattr(torch._C, "_cuda_getDeviceCount")


def watch_once_opened(session: Session, torch: Any, probe: str, begin: Callable[[], None]) -> str | None:  # noqa: ANN401
    """Call `begin` when the script opens a device, at once if it has; the answer is what `install` returns.

    Until then the record says that the probe saw no device: a line that ran without an event means nothing then.
    """
    opened: list[bool] = []

    def open_() -> None:
        begin()
        opened.append(True)
        session.recorder.probe(probe, "watching")

    torch.cuda._lazy_call(session.guarded(probe, open_))
    return None if opened else NOT_OPENED
