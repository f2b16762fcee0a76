"""TPL508."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.computing import BFLOAT16, HALF, SINGLE, TENSOR_CORES, Graph, capability_of, device_loop, graph_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Severity
from torchperf_lint.rule import RunRule

_FEWEST = 3
"""Convolutions whose layout was seen."""
_MOST = 0.5
"""Share of operations that are convolutions, of those that are not depthwise, of those on tensor cores."""


class ChannelsLastMissing(RunRule):
    """The device is what bounds the run, and convolutions on tensor cores keep channels first.

    ## What it does
    Proposes a trial, not a gain: where the device was busy, convolutions in two dimensions are most of what a training
    step multiplies, they compute in float16, bfloat16 or TF32, and their weights are contiguous (NCHW).

    ## Why it is slow
    cuDNN's kernels for tensor cores want channels last (NHWC); of channels-first tensors it makes a transposed copy
    around a convolution. What share of the step convolutions are, this record does not say.

    ## Example
    A ResNet under autocast whose model and images are in the default layout.

    ## Use instead
    `model = model.to(memory_format=torch.channels_last)`, and the images in the same layout where they are moved.

    ## When it is fine
    With depthwise or grouped convolutions, group or instance norms, and code that reshapes with `view`: channels last
    has been slower there.

    ## Fix safety
    Nothing is changed for you. Results may differ in the last bits; `view` may refuse the other layout.

    ## Confirmed by
    NVML's utilisation, and the convolutions that autograd noted in one backward pass after the warm-up. The layout is
    that of the weights; that of the images is not seen. Silent where this was not recorded, or where compiled or
    checkpointed regions hide operations.

    ## References
    - PyTorch tutorial, "Channels Last Memory Format in PyTorch".
    - PyTorch issues 50036 and 111824: where it is slower.
    """

    code, name, since = "TPL508", "channels-last-missing", "0.1.0"
    severity = Severity.INFO

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One trial to run, where the device bounds a convolutional run in NCHW."""
        graph, capability = graph_of(run), capability_of(run)
        if graph is None or capability is None or capability < TENSOR_CORES or not _is_convolutional(graph):
            return
        how = _tensor_cores(run, graph, capability)
        bound = device_loop(run) if how is not None else None
        if bound is None:
            return
        first = graph.planar - graph.channels_last
        yield Bound(
            self.code,
            self.name,
            f"a trial: the device bounds this run, and {first} of {graph.planar} convolutions keep channels first",
            f"the device is busy {percent(bound.busy)} of the time (an upper bound); they compute in {how}; the layout "
            "is that of their weights; what share of the step convolutions take was not measured",
            "try `model.to(memory_format=torch.channels_last)`, the images likewise, for some hundred steps; compare "
            "the step time, and keep what is better",
            actionable=False,
        )


def _is_convolutional(graph: Graph) -> bool:
    convolutions = sum(graph.convolutions.values())
    if graph.planar < _FEWEST or convolutions < _MOST * graph.operations:
        return False
    return graph.depthwise < _MOST * convolutions and graph.channels_last < _MOST * graph.planar


def _tensor_cores(run: Evidence, graph: Graph, capability: tuple[int, int]) -> str | None:
    """What convolutions compute in, where tensor cores do it."""
    enough = _MOST * sum(graph.convolutions.values())
    for dtype in HALF:
        if graph.convolutions.get(dtype, 0) > enough:
            return dtype
    single = graph.convolutions.get(SINGLE, 0) > enough
    allowed = run.state.get("cudnn_allow_tf32") is True
    return "TF32" if single and allowed and capability >= BFLOAT16 else None
