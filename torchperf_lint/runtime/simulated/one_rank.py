"""A process group of one: what its collectives give back is what they were given. Only where torch.distributed is."""

from __future__ import annotations

from typing import Any

import torch
from torch.distributed import ProcessGroup, distributed_c10d

from torchperf_lint.runtime.simulated.memory import on_device
from torchperf_lint.runtime.simulated.reports import REPORTS


class OneRank(ProcessGroup):  # type: ignore[misc]
    """In the place of one over NCCL, by the names that torch's Python and its reducer call."""

    def __init__(self, rank: int, size: int, devices: list[torch.device]) -> None:
        """`devices`: the kinds whose tensors it takes."""
        super().__init__(rank, size)
        self._devices = devices

    @property
    def _device_types(self) -> list[torch.device]:
        return self._devices

    @property
    def group_name(self) -> Any:  # noqa: ANN401
        """As torch registered it."""
        return distributed_c10d._world.pg_names[self]

    pg_name = group_name

    def size(self) -> int:
        """Of ranks."""
        return 1

    def getBackendName(self) -> str:  # noqa: N802
        """Whose place it takes."""
        return "nccl"

    def shutdown(self) -> None:
        """There is nothing to end."""

    def abort(self) -> None:
        """There is nothing to end."""

    def _check(self, tensor: torch.Tensor) -> None:
        kind = "cuda" if on_device(tensor) else "cpu"
        if all(device.type != kind for device in self._devices):
            raise RuntimeError(f"No backend type associated with device type {kind}")

    def _kept(self, tensors: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        """What is there is the result."""
        for tensor in tensors:
            self._check(tensor)
        return _done(tensors)

    def _filled(self, outputs: Any, inputs: Any, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        """The one part of each output, which may be a list, is the input's."""
        for output, given in zip(_each(outputs), _each(inputs), strict=True):
            self._check(given)
            with torch.no_grad():
                output.view(given.shape).copy_(given)
        return _done(outputs)

    allreduce = allreduce_coalesced = broadcast = reduce = _kept
    allgather = allgather_coalesced = gather = scatter = reduce_scatter = alltoall = alltoall_base = _filled
    _allgather_base = _reduce_scatter_base = all_gather_single = reduce_scatter_single = _filled
    allgather_into_tensor_coalesced = reduce_scatter_tensor_coalesced = _filled
    all_gather_single_coalesced = reduce_scatter_single_coalesced = _filled

    def barrier(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401
        """NCCL's keeps the host until the stream is through."""
        REPORTS.sync("stream-synchronize")
        return _done([])


def _done(result: Any) -> Any:  # noqa: ANN401
    future: Any = torch.futures.Future()
    future.set_result(result)
    return torch._C._distributed_c10d._create_work_from_future(future)


def _each(values: Any) -> list[torch.Tensor]:  # noqa: ANN401
    """The tensors of one, of a list, or of a list of lists."""
    if isinstance(values, torch.Tensor):
        return [values]
    return [tensor for value in values for tensor in _each(value)]
