"""The GPUs that the script uses, through NVML (distribution nvidia-ml-py): named by UUID, since indices move.

CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER change the order that CUDA counts in, and NVML knows neither.
NVML's utilisation is the share of time in which *any* kernel ran, however small: an upper bound on the use made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

Source = Callable[[float], Mapping[str, float]]
"""Seconds since the last sample -> series of values; raises where it cannot tell."""


class UnavailableError(Exception):
    """Why something cannot be sampled, in words for the report."""


@dataclass(frozen=True)
class Gpu:
    """A device as the script's process names it."""

    index: int
    """CUDA's, in that process; series are called `gpu.<index>.*`."""
    uuid: str | None
    """With or without NVML's "GPU-" or "MIG-"; None where the script's torch does not tell (before 2.4)."""
    name: str | None = None
    mig: bool | None = None
    """Whether it is a MIG instance; None until NVML was asked."""
    memory_total_bytes: int | None = None
    busy_from: str | None = None
    """Which NVML call the series `gpu.<index>.busy_share` comes from."""


class Nvml:
    """NVML, as long as it is open."""

    def __init__(self, pynvml: Any) -> None:  # noqa: ANN401 -- the module
        """Raises UnavailableError without a driver."""
        self._nvml = pynvml
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            raise UnavailableError(_reason(error)) from error

    def close(self) -> None:
        """Let go of the library."""
        self._nvml.nvmlShutdown()

    def watch(self, gpu: Gpu) -> tuple[Gpu, dict[str, Source]]:
        """What NVML adds to `gpu`, and its sources by name; each raises UnavailableError when its call fails.

        Series: `busy_share`, `memory_bytes` (of all processes on the card), `power_w`, `sm_clock_mhz`,
        `power_capped_share` and `heat_capped_share` (samples in which the clock was held down, and by what).
        Raises UnavailableError if NVML does not know the device.
        """
        handle = self._handle(gpu.uuid)
        mig = self._is_mig(handle)
        device = _Device(self._nvml, handle, f"gpu.{gpu.index}", mig)
        busy, busy_from = device.busy_source()
        sources = {
            "busy": busy,
            "memory": device.memory,
            "power": device.power,
            "clock": device.clock,
            "throttle": device.throttle,
        }
        known = replace(
            gpu, mig=mig, memory_total_bytes=_or_none(device.memory_total), name=gpu.name or _or_none(device.name)
        )
        guarded = {f"gpu.{gpu.index}.{name}": device.guarded(source) for name, source in sources.items()}
        return replace(known, busy_from=busy_from), guarded

    def _handle(self, uuid: str | None) -> Any:  # noqa: ANN401 -- NVML's opaque handle
        """torch gives UUIDs bare; NVML wants to know of what they are."""
        if uuid is None:
            raise UnavailableError("the script's torch does not tell the device's UUID")
        names = [uuid] if uuid.startswith(("GPU-", "MIG-")) else []
        bare = uuid.removeprefix("GPU-").removeprefix("MIG-")
        for name in dict.fromkeys([*names, f"GPU-{bare}", f"MIG-{bare}"]):
            try:
                return self._nvml.nvmlDeviceGetHandleByUUID(name)
            except self._nvml.NVMLError as error:
                failed = error
        raise UnavailableError(f"NVML does not know {uuid}: {_reason(failed)}")

    def _is_mig(self, handle: Any) -> bool | None:  # noqa: ANN401
        """Whether it is a MIG instance, or a card that is divided into some: neither has rates."""
        try:
            if self._nvml.nvmlDeviceIsMigDeviceHandle(handle):
                return True
            current, _pending = self._nvml.nvmlDeviceGetMigMode(handle)
        except (AttributeError, self._nvml.NVMLError):
            return None
        return bool(current)


class _Device:
    def __init__(self, nvml: Any, handle: Any, prefix: str, mig: bool | None) -> None:  # noqa: ANN401
        self._nvml = nvml
        self._handle = handle
        self._prefix = prefix
        self._mig = mig
        self._seen = 0

    def guarded(self, source: Source) -> Source:
        """`source`, its NVML errors told in words; on MIG with that as the reason."""

        def sample(elapsed_s: float) -> Mapping[str, float]:
            try:
                return source(elapsed_s)
            except self._nvml.NVMLError as error:
                raise UnavailableError(f"MIG ({_reason(error)})" if self._mig else _reason(error)) from error

        return sample

    def busy_source(self) -> tuple[Source, str]:
        """NVML's own samples, several a second, where it keeps them; else its rate over the last 1/6 to 1 s."""
        try:
            self._new_samples()
        except (AttributeError, self._nvml.NVMLError) as error:
            if isinstance(error, AttributeError) or not self._is_empty(error):
                return self._rate, "nvmlDeviceGetUtilizationRates"
        return self._samples, "nvmlDeviceGetSamples"

    def _samples(self, _elapsed_s: float) -> dict[str, float]:
        try:
            values = self._new_samples()
        except self._nvml.NVMLError as error:
            if not self._is_empty(error):
                raise
            values = []
        return {f"{self._prefix}.busy_share": sum(values) / len(values) / 100} if values else {}

    def _new_samples(self) -> list[int]:
        """Per cent, of the samples that NVML took since we last asked."""
        kind = self._nvml.NVML_GPU_UTILIZATION_SAMPLES
        _type, samples = self._nvml.nvmlDeviceGetSamples(self._handle, kind, self._seen)
        new = [sample for sample in samples if sample.timeStamp > self._seen]
        self._seen = max([self._seen, *(sample.timeStamp for sample in new)])
        return [sample.sampleValue.uiVal for sample in new]

    def _is_empty(self, error: Any) -> bool:  # noqa: ANN401 -- an NVMLError
        return bool(error.value == self._nvml.NVML_ERROR_NOT_FOUND)

    def _rate(self, _elapsed_s: float) -> dict[str, float]:
        return {f"{self._prefix}.busy_share": self._nvml.nvmlDeviceGetUtilizationRates(self._handle).gpu / 100}

    def memory(self, _elapsed_s: float) -> dict[str, float]:
        return {f"{self._prefix}.memory_bytes": self._nvml.nvmlDeviceGetMemoryInfo(self._handle).used}

    def power(self, _elapsed_s: float) -> dict[str, float]:
        return {f"{self._prefix}.power_w": self._nvml.nvmlDeviceGetPowerUsage(self._handle) / 1000}

    def clock(self, _elapsed_s: float) -> dict[str, float]:
        clock = self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM)
        return {f"{self._prefix}.sm_clock_mhz": clock}

    def throttle(self, _elapsed_s: float) -> dict[str, float]:
        nvml = self._nvml
        reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons(self._handle)
        power = nvml.nvmlClocksThrottleReasonSwPowerCap | nvml.nvmlClocksThrottleReasonHwPowerBrakeSlowdown
        heat = nvml.nvmlClocksThrottleReasonSwThermalSlowdown | nvml.nvmlClocksThrottleReasonHwThermalSlowdown
        return {
            f"{self._prefix}.power_capped_share": float(bool(reasons & power)),
            f"{self._prefix}.heat_capped_share": float(bool(reasons & heat)),
        }

    def memory_total(self) -> int:
        return int(self._nvml.nvmlDeviceGetMemoryInfo(self._handle).total)

    def name(self) -> str:
        name = self._nvml.nvmlDeviceGetName(self._handle)
        return name.decode() if isinstance(name, bytes) else str(name)


def _or_none(read: Callable[[], Any]) -> Any:  # noqa: ANN401
    """For what only decorates: any failure leaves it unknown."""
    try:
        return read()
    except Exception:  # noqa: BLE001 -- the border to the driver
        return None


def _reason(error: Exception) -> str:
    return f"NVML says: {error}"
