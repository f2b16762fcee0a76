"""Facts about the process that explain its speed: devices, build, switches, threads.

Taken once at the third step (or the tenth batch where nothing trains), and again at the end: a script sets its
switches before it trains.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from torchperf_lint.events import Record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torchperf_lint.runtime.session import Session

NAME = "state"
_VARIABLES = (
    "CUDA_LAUNCH_BLOCKING",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "CUDA_VISIBLE_DEVICES",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TORCH_DISTRIBUTED_DEBUG",
    "TORCH_NCCL_BLOCKING_WAIT",
    "NCCL_BLOCKING_WAIT",
    "NCCL_DEBUG",
    "NCCL_P2P_DISABLE",
    "NCCL_SHM_DISABLE",
    "NCCL_IB_DISABLE",
)
"""What of the environment is recorded; nothing else is."""


def install(session: Session, torch: Any) -> str | None:  # noqa: ANN401
    """Note facts when a step or a flush comes; nothing is asked of a device that the script does not use."""
    looker = _Looker(session, torch)
    session.recorder.sources.append(looker.records)
    session.restarts.append(looker.restart)
    session.timeline.on_milestone.append(session.guarded(NAME, looker.look_at_step))
    session.recorder.state("build", _build(torch))
    return None


class _Looker:
    def __init__(self, session: Session, torch: Any) -> None:  # noqa: ANN401
        self.session = session
        self.torch = torch
        self.restart()

    def restart(self) -> None:
        """A forked child looks for itself."""
        self._shown: dict[str, Any] = {}
        self._now: dict[str, Any] = {}

    def look_at_step(self, steps: int) -> None:
        del steps
        timeline = self.session.timeline
        if not timeline.leaves_out:  # else there is a profiler, and it is ours
            self._now = facts(self.torch, self.session.simulated)
            timeline.compared = "distributed" in self._now

    def records(self) -> Iterator[Record]:
        """What has changed since it was last written."""
        if self._has_begun():
            self._now = facts(self.torch, self.session.simulated)
        for key, value in self._now.items():
            if self._shown.get(key, self) != value:
                self._shown[key] = value
                yield {"record": "state", "key": key, "value": value}

    def _has_begun(self) -> bool:
        """Whether what nothing has been noted of has begun by now: the run, or its use of a device.

        A server takes no step and reads no loader, and a script may update its parameters by itself.
        """
        timeline = self.session.timeline
        opened = not self.session.simulated and bool(self.torch.cuda.is_initialized())
        if not self._now:
            return bool(timeline.batches or timeline.backwards or opened)
        return opened and "gpus" not in self._now


def facts(torch: Any, simulated: bool = False) -> dict[str, Any]:  # noqa: ANN401
    """Every fact this machine can tell; a fact that cannot be had is left out."""
    found: dict[str, Any] = {
        "threads": torch.get_num_threads(),
        "anomaly_mode": torch.is_anomaly_enabled(),
        "environment": {name: os.environ[name] for name in _VARIABLES if name in os.environ},
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "profiling": torch.autograd._profiler_enabled(),
        "start_method": _start_method(),
    }
    group = _group(torch)
    if group is not None:
        found["distributed"] = group
    gpus = [] if simulated else _gpus(torch)
    if gpus is not None:
        found["gpus"] = gpus
    cudnn = getattr(torch.backends, "cudnn", None)
    if cudnn is not None:
        found["cudnn_benchmark"] = bool(cudnn.benchmark)
        found["cudnn_deterministic"] = bool(cudnn.deterministic)
        found["cudnn_enabled"] = bool(cudnn.enabled)
        found["cudnn_allow_tf32"] = _allows_tf32(cudnn)
    if hasattr(torch, "get_float32_matmul_precision"):
        found["matmul_precision"] = torch.get_float32_matmul_precision()
    return found


def _build(torch: Any) -> dict[str, Any]:  # noqa: ANN401
    version = torch.version
    return {"cuda": version.cuda, "hip": getattr(version, "hip", None), "debug": bool(version.debug)}


def _gpus(torch: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401
    """The devices this process can use, by UUID; None while it has opened none, for asking must not open them."""
    if torch.version.cuda is None and getattr(torch.version, "hip", None) is None:
        return []
    if not torch.cuda.is_initialized():
        return None
    found = []
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        uuid = getattr(properties, "uuid", None)
        found.append(
            {
                "index": index,
                "name": properties.name,
                "uuid": f"GPU-{uuid}" if uuid is not None else None,
                "memory_bytes": properties.total_memory,
                "multiprocessors": properties.multi_processor_count,
                "capability": [properties.major, properties.minor],
            }
        )
    return found


def _allows_tf32(cudnn: Any) -> bool | None:  # noqa: ANN401
    """None where a script has mixed torch's old and new settings of it, which torch refuses to read."""
    try:
        return bool(cudnn.allow_tf32)
    except (AttributeError, RuntimeError):
        return None


def _group(torch: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """The process group that this process trains in; None outside of one."""
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return {
        "backend": str(distributed.get_backend()),
        "rank": distributed.get_rank(),
        "world": distributed.get_world_size(),
    }


def _start_method() -> str | None:
    import multiprocessing

    return multiprocessing.get_start_method(allow_none=True)
