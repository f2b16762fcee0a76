"""What a CUDA build of torch has in `torch._C` and the host's build lacks; torch.cuda's own functions run on it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from torchperf_lint.runtime.simulated import streams
from torchperf_lint.runtime.simulated.generators import make_generators
from torchperf_lint.runtime.simulated.naming import FORK, SELECTED
from torchperf_lint.runtime.simulated.reports import REPORTS
from torchperf_lint.untold import NO_EFFECT, NO_MEMORY

_MEMORY = 16 * 2**30
"""Bytes that the device claims to have; large enough that scripts which divide by it or compare with it go on."""


@dataclass
class Properties:
    """What `torch.cuda.get_device_properties` returns: the figures of no card in particular, capability 8.0."""

    name: str = "simulated CUDA device"
    major: int = 8
    minor: int = 0
    total_memory: int = _MEMORY
    multi_processor_count: int = 108
    is_integrated: bool = False
    is_multi_gpu_board: bool = False
    warp_size: int = 32
    max_threads_per_multi_processor: int = 2048
    max_threads_per_block: int = 1024
    regs_per_multiprocessor: int = 65536
    shared_memory_per_block: int = 49152
    shared_memory_per_block_optin: int = 166912
    shared_memory_per_multiprocessor: int = 167936
    L2_cache_size: int = 41943040
    gcnArchName: str = ""  # noqa: N815
    uuid: str = "00000000-0000-0000-0000-000000000000"


class Driver:
    """The simulated machine's devices, as `torch._C._cuda_*` sees them."""

    def __init__(self, devices: int) -> None:
        self.devices = devices

    def functions(self) -> dict[str, Callable[..., Any]]:
        """By the name in `torch._C`."""
        return {
            "_cuda_init": lambda: None,
            "_cuda_getDeviceCount": lambda: self.devices,
            "_cuda_getDevice": lambda: SELECTED.index,
            "_cuda_setDevice": self.select,
            "_cuda_exchangeDevice": self.exchange,
            "_cuda_maybeExchangeDevice": self.exchange,
            "_cuda_isInBadFork": lambda: FORK.bad,
            "_cuda_hasPrimaryContext": lambda index: True,
            "_cuda_canDeviceAccessPeer": lambda first, second: True,
            "_cuda_getCompiledVersion": lambda: 12080,
            "_cuda_getArchFlags": lambda: "sm_80",
            "_cuda_synchronize": lambda: REPORTS.sync("device-synchronize"),
            "_cuda_set_sync_debug_mode": self.set_sync_debug_mode,
            "_cuda_get_sync_debug_mode": lambda: REPORTS.debug_mode,
            "_cuda_ipc_collect": lambda: None,
            "_cuda_emptyCache": lambda *_: None,
            "_cuda_sleep": lambda cycles: None,
            "_cuda_clearCublasWorkspaces": lambda: None,
            "_cuda_getCurrentStream": streams.current_stream,
            "_cuda_getDefaultStream": streams.default_stream,
            "_cuda_getCurrentRawStream": lambda index: streams.CURRENT.ids.get(index, 0),
            "_cuda_setStream": streams.set_stream,
            "_cuda_isCurrentStreamCapturing": lambda: False,
            # torch.distributed logs it with each collective that fails.
            "_nccl_version": lambda: 2 << 32 | 27 << 16 | 3,
            "_nccl_version_suffix": lambda: b"",
            **self._memory(),
        }

    def _memory(self) -> dict[str, Callable[..., Any]]:
        return {
            "_cuda_memoryStats": _untracked({}),
            "_cuda_hostMemoryStats": _untracked({}),
            "_cuda_memorySnapshot": _untracked({"segments": [], "device_traces": []}),
            "_cuda_resetPeakMemoryStats": lambda index: None,
            "_cuda_resetPeakHostMemoryStats": lambda: None,
            "_cuda_resetAccumulatedMemoryStats": lambda index: None,
            "_cuda_resetAccumulatedHostMemoryStats": lambda: None,
            "_cuda_setMemoryFraction": lambda fraction, index: None,
            "_cuda_getMemoryFraction": lambda index: 1.0,
            "_cuda_record_memory_history": _untracked(None),
            "_cuda_getAllocatorBackend": lambda: "native",
        }

    def select(self, index: int) -> None:
        """Select a device for this thread. Raises RuntimeError for one that is not there."""
        if index >= self.devices:
            raise RuntimeError(f"CUDA error: invalid device ordinal (simulated device {index} of {self.devices})")
        SELECTED.index = index

    def exchange(self, index: int) -> int:
        """Select a device, -1 for none, and say which was selected."""
        previous = SELECTED.index
        if index >= 0:
            self.select(index)
        return previous

    def set_sync_debug_mode(self, mode: int) -> None:
        """Warn of each wait (1), refuse it (2), or say nothing (0), as a card's build does."""
        REPORTS.debug_mode = mode


def _untracked(answer: Any) -> Callable[..., Any]:  # noqa: ANN401
    def function(*_: Any, **__: Any) -> Any:  # noqa: ANN401
        REPORTS.unsupported(NO_MEMORY)
        return answer

    return function


class _Runtime:
    """Stands for the CUDA runtime library, of which torch.cuda asks the free memory."""

    class cudaError:  # noqa: N801
        """The one code that calls return."""

        success = 0

    def cudaMemGetInfo(self, device: int) -> tuple[int, int]:  # noqa: N802
        """(free, total) in bytes; untracked, so all is free."""
        REPORTS.unsupported(NO_MEMORY)
        return _MEMORY, _MEMORY

    def __getattr__(self, name: str) -> Callable[..., int]:
        if not name.startswith("cuda"):
            raise AttributeError(name)
        REPORTS.unsupported(NO_EFFECT.format(name))
        return lambda *_: 0


class _Ranges:
    """NVTX ranges: nobody listens."""

    def __getattr__(self, name: str) -> Callable[..., int]:
        return lambda *_: 0


def load_driver(devices: int) -> None:
    """Give torch.cuda its devices."""
    driver = Driver(devices)
    for name, function in driver.functions().items():
        setattr(torch._C, name, function)
    cuda: Any = torch.cuda
    cuda._cudart = _Runtime()
    cuda._exchange_device = driver.exchange
    cuda._maybe_exchange_device = driver.exchange
    cuda._is_in_bad_fork = lambda: FORK.bad
    cuda._get_device_properties = lambda index: Properties()
    cuda.device_count = lambda: driver.devices
    cuda.default_generators = make_generators(devices)
    cuda.nvtx._nvtx = _Ranges()
    cuda.memory_summary = cuda.memory.memory_summary = _untracked("(simulated device: memory is not tracked)")
    for name, stand_in in (("Stream", streams.Stream), ("Event", streams.Event)):
        setattr(cuda, name, stand_in)
        setattr(cuda.streams, name, stand_in)
    cuda.init()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)


def _after_fork() -> None:
    FORK.bad = True
