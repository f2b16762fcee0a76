"""What the sampler measured, as diagnoses and reports read it. Everything is optional: None is "not measured"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

_FEWEST_SAMPLES = 5
"""A share of fewer samples says nothing."""
_UNAVAILABLE = "unavailable: "


@dataclass(frozen=True)
class Machine:
    """A record's `utilisation`, as `runtime/sampler.py` writes it."""

    record: Mapping[str, Any]

    def mean(self, series: str) -> float | None:
        """Mean of a series over the run, in the unit that ends its name (a share is 0 to 1)."""
        return _number(_mapping(_mapping(self.record.get("series")).get(series)).get("mean"))

    def most(self, series: str) -> float | None:
        """The largest sample of a series."""
        return _number(_mapping(_mapping(self.record.get("series")).get(series)).get("max"))

    def missing(self, source: str) -> str:
        """Why a source measured nothing, in words."""
        if not self.record:
            return "nothing was sampled"
        state = str(_mapping(self.record.get("states")).get(source, "not sampled"))
        return state.removeprefix(_UNAVAILABLE) if state != "measured" else "no sample was taken"

    @property
    def gpus(self) -> Sequence[Mapping[str, Any]]:
        """The devices that the script used: index, name, memory_total_bytes, busy_from, ..."""
        found = self.record.get("gpus")
        return [_mapping(gpu) for gpu in found] if isinstance(found, (list, tuple)) else []

    @property
    def gpu_busy(self) -> float | None:
        """Mean share of time in which any kernel ran, of the least busy device; an upper bound of the use made."""
        means = [self.mean(f"gpu.{gpu.get('index')}.busy_share") for gpu in self.gpus]
        return min((mean for mean in means if mean is not None), default=None)

    @property
    def cores(self) -> float | None:
        """Cores that the run may keep busy at once."""
        return _number(_mapping(self.record.get("allowed_cores")).get("cores"))

    @property
    def cores_from(self) -> str:
        """What limits them: "affinity", "cgroup v2 quota", ..."""
        return str(_mapping(self.record.get("allowed_cores")).get("source", "unknown"))

    def disk_sleep(self, main: bool) -> float | None:
        """Share of samples in which the main process, or else its children, slept on the disk (state D)."""
        found = self.record.get("processes")
        each = [_mapping(p) for p in found] if isinstance(found, (list, tuple)) else []
        chosen = [process for process in each if bool(process.get("main")) is main]
        samples = sum(_number(process.get("samples")) or 0 for process in chosen)
        slept = sum(_number(process.get("in_disk_sleep")) or 0 for process in chosen)
        return slept / samples if samples >= _FEWEST_SAMPLES else None


def machine_of(utilisation: Mapping[str, Any] | None) -> Machine:
    """The machine of a run; one that knows nothing where nothing was sampled."""
    return Machine(utilisation or {})


def finite(value: object) -> float | None:
    """A number; None for what a damaged record has in place of one."""
    number = _number(value)
    return number if number is not None and isfinite(number) else None


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
