"""How busy the device was, by the best number there is, and which number that is. Torch-free."""

from __future__ import annotations

from dataclasses import dataclass

from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.window import kernels_of


@dataclass(frozen=True)
class DeviceUse:
    """A share of time in which any kernel ran."""

    share: float
    steps: int | None
    """Of how many profiled steps it is; None for NVML's rate over the whole run."""


def device_use(run: Evidence) -> DeviceUse | None:
    """From the kernels of a profiler's window, else NVML's rate, which counts any kernel for up to a second.

    None where neither was measured.
    """
    kernels = None if run.simulated else kernels_of(run.state)
    if kernels is not None:
        return DeviceUse(kernels.busy, kernels.steps)
    busy = machine_of(run.utilisation).gpu_busy
    return DeviceUse(busy, None) if busy is not None else None
