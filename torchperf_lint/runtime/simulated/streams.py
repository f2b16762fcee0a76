"""Streams and events of the device: everything is done when it is asked for, so they only report waiting."""

from __future__ import annotations

import itertools
import threading
import time
from typing import Any

import torch

from torchperf_lint.runtime.simulated.naming import SELECTED, internal
from torchperf_lint.runtime.simulated.reports import REPORTS
from torchperf_lint.untold import NO_TIME

_numbers = itertools.count(1)
_CUDA = 1
"""DeviceType of CUDA in c10."""


class Stream:
    """`torch.cuda.Stream` of the simulated device."""

    def __init__(self, device: Any = None, priority: int = 0, **given: int) -> None:  # noqa: ANN401
        where = internal(f"cuda:{device}" if isinstance(device, int) else device)
        index = SELECTED.index if where is None else torch.device(where).index
        self.priority = priority
        self.stream_id = given["stream_id"] if "stream_id" in given else next(_numbers)
        self.device_index = given.get("device_index", index)
        self.device_type = given.get("device_type", _CUDA)
        self.device = torch.device("cuda", self.device_index)
        self._outer: list[Stream] = []

    @property
    def cuda_stream(self) -> int:
        """The stream's handle; a number only."""
        return self.stream_id

    def synchronize(self) -> None:
        """The host waits for everything queued on the stream."""
        REPORTS.sync("stream-synchronize")

    def wait_event(self, event: Event) -> None:
        """Make the stream wait; the host does not."""

    def wait_stream(self, stream: Stream) -> None:
        """Make the stream wait; the host does not."""

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this point of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        """True: nothing is ever pending."""
        return True

    def is_capturing(self) -> bool:
        """False: CUDA graphs are not simulated."""
        return False

    def __enter__(self) -> Stream:
        self._outer.append(torch.cuda.current_stream(self.device))
        torch.cuda.set_stream(self)
        return self

    def __exit__(self, *_: object) -> None:
        torch.cuda.set_stream(self._outer.pop())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.stream_id, self.device) == (other.stream_id, other.device)

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """`torch.cuda.Event` of the simulated device."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False
    ) -> None:
        self.enable_timing = enable_timing
        self.device = torch.device("cuda", SELECTED.index)
        self.cuda_event = 0
        self._recorded: float | None = None

    def record(self, stream: Any = None) -> None:  # noqa: ANN401
        """Mark this point of the stream."""
        self._recorded = time.perf_counter()

    def wait(self, stream: Any = None) -> None:  # noqa: ANN401
        """Make a stream wait; the host does not."""

    def query(self) -> bool:
        """True: nothing is ever pending."""
        return True

    def synchronize(self) -> None:
        """The host waits for the event, unless nothing has recorded it."""
        if self._recorded is not None:
            REPORTS.sync("event-synchronize")

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds that the host took between the two, as the simulation measures no device: scripts compute on."""
        if self._recorded is None or end_event._recorded is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        REPORTS.unsupported(NO_TIME)
        return 1000 * (end_event._recorded - self._recorded)


class Current(threading.local):
    """The current stream of each device, by thread; 0 is the default stream."""

    def __init__(self) -> None:
        self.ids: dict[int, int] = {}


CURRENT = Current()


def current_stream(index: int) -> tuple[int, int, int]:
    """(stream, device, device type) as `torch._C._cuda_getCurrentStream` has them."""
    return CURRENT.ids.get(index, 0), index, _CUDA


def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
    """`torch._C._cuda_setStream`; it selects the device, too."""
    SELECTED.index = device_index
    CURRENT.ids[device_index] = stream_id


def default_stream(index: int) -> tuple[int, int, int]:
    """`torch._C._cuda_getDefaultStream`."""
    return 0, index, _CUDA
