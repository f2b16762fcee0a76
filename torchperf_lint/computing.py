"""What a run that its device bounds computes with: dtypes, layouts, the device's generation. Torch-free."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torchperf_lint.bounds import AFTER, DATA, DEFAULT, Loop, loop_of
from torchperf_lint.device_use import DeviceUse, device_use
from torchperf_lint.evidence import Evidence

HALF = ("bfloat16", "float16")
SINGLE = "float32"
TENSOR_CORES = (7, 0)
"""The first devices with tensor cores, which compute in float16 (Volta)."""
BFLOAT16 = (8, 0)
"""The first with bfloat16 and TF32 (Ampere)."""


@dataclass(frozen=True)
class DeviceLoop:
    """A loop that neither the loader nor the host's code holds up, and a device that was busy."""

    loop: Loop
    use: DeviceUse

    @property
    def busy(self) -> float:
        """Share of time in which any kernel ran; an upper bound of the use made."""
        return self.use.share


def device_loop(run: Evidence) -> DeviceLoop | None:
    """The loop of a run that is bound by its device; None where it is not, or that was not measured."""
    loop, use = loop_of(run), device_use(run)
    if loop is None or run.device is None or use is None or use.share < DEFAULT.busy_device:
        return None
    if loop.share(DATA) >= DEFAULT.named or loop.share(AFTER) >= DEFAULT.named:
        return None
    return DeviceLoop(loop, use)


@dataclass(frozen=True)
class Graph:
    """What the backward pass that was looked at computes (runtime/probes/precision.py): how many, by dtype."""

    matmuls: Mapping[str, int]
    convolutions: Mapping[str, int]
    depthwise: int
    planar: int
    """Convolutions in two dimensions whose weight's layout can be told."""
    channels_last: int
    """Those whose weight is channels-last."""
    cut: bool

    @property
    def operations(self) -> int:
        """Matrix products and convolutions."""
        return sum(self.matmuls.values()) + sum(self.convolutions.values())

    def of(self, *dtypes: str) -> int:
        """Those of these dtypes."""
        return sum(counts.get(dtype, 0) for counts in (self.matmuls, self.convolutions) for dtype in dtypes)


def graph_of(run: Evidence) -> Graph | None:
    """None where it was not recorded, or where compiled or checkpointed regions hide a part of it."""
    found = run.state.get("graph")
    if not isinstance(found, Mapping) or found.get("hidden") != 0:
        return None
    matmuls, convolutions = _counts(found.get("matmuls")), _counts(found.get("convolutions"))
    depthwise, planar, last = (_whole(found.get(name)) for name in ("depthwise", "planar", "channels_last"))
    return Graph(matmuls, convolutions, depthwise, planar, last, found.get("cut") is True)


def capability_of(run: Evidence) -> tuple[int, int] | None:
    """The least compute capability of the devices that the run could use; None where it was not recorded, or on ROCm,
    whose numbers mean something else."""
    gpus, build = run.state.get("gpus"), run.state.get("build")
    if not isinstance(gpus, (list, tuple)) or not gpus or (isinstance(build, Mapping) and build.get("hip")):
        return None
    found = [gpu.get("capability") if isinstance(gpu, Mapping) else None for gpu in gpus]
    known = [(_whole(each[0]), _whole(each[1])) for each in found if isinstance(each, (list, tuple)) and len(each) == 2]
    return min(known) if len(known) == len(gpus) else None


def _counts(value: object) -> Mapping[str, int]:
    return {str(k): _whole(n) for k, n in value.items()} if isinstance(value, Mapping) else {}


def _whole(value: Any) -> int:  # noqa: ANN401 -- whatever a record says
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
