"""TPL909."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import WAITING, Bound
from torchperf_lint.computing import DeviceLoop, device_loop
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule
from torchperf_lint.window import kernels_of


class DeviceBound(RunRule):
    """The device is busy all the time: the model is what takes it.

    ## What it does
    Says that the device was measured to be busy, and that neither loader nor host code takes a share worth naming.

    ## Why it is slow
    It need not be. The loop feeds the device; to be faster, the model itself must do less or do it better.

    ## Example
    A ResNet at batch size 512, a loader that keeps up, and one read of the loss every hundredth step.

    ## Use instead
    Mixed precision, `torch.compile`, fused kernels, larger batches: each may help, none surely. A profile of the
    kernels says where.

    ## When it is fine
    Where the kernels do what they must.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    The share of time in which any kernel ran: the union of the kernels of a profiler's window, else NVML's utilisation,
    and the report says which. Both are upper bounds of how much the device was used.

    ## References
    - NVML API reference, nvmlUtilization_t.
    """

    code, name, since = "TPL909", "device-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the device was busy and nothing else takes the time."""
        bound = device_loop(run)
        if bound is None:
            return
        loop, busy = bound.loop, bound.busy
        waiting = loop.share(WAITING)
        blocked = f"the host waits for it {percent(waiting)} of the {loop.unit}'s time; " if waiting else ""
        yield Bound(
            self.code,
            self.name,
            f"the device is busy {percent(busy)} of the time: the model is what takes it",
            f"{blocked}{_source(run, bound)}",
            "look at the kernels (torch.profiler): mixed precision, torch.compile or larger batches may help",
            waiting,
            actionable=False,
        )


def _source(run: Evidence, bound: DeviceLoop) -> str:
    """Which number it is, and what else is known of it."""
    kernels = kernels_of(run.state)
    if bound.use.steps is None or kernels is None:
        return "NVML counts any kernel, however small, so this is an upper bound"
    by_name = ""
    if kernels.tensor_cores is not None:
        by_name = f"; {percent(kernels.tensor_cores)} of their time is in kernels that name tensor cores"
    return f"the union of all kernels of {bound.use.steps} profiled steps, an upper bound of the use made{by_name}"
