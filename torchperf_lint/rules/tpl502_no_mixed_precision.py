"""TPL502."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import percent
from torchperf_lint.bounds import Bound
from torchperf_lint.computing import BFLOAT16, SINGLE, TENSOR_CORES, Graph, capability_of, device_loop, graph_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Severity
from torchperf_lint.rule import RunRule

_MOST = 0.5
"""Share of matrix products and convolutions in float32 from which on a run counts as not mixed."""


class NoMixedPrecision(RunRule):
    """The device is what bounds the run, and the model computes in float32.

    ## What it does
    Proposes a trial, not a gain: where the device was busy, neither loader nor host code took a share worth naming,
    the device has tensor cores, and most matrix products and convolutions of a training step returned float32.

    ## Why it is slow
    Tensor cores multiply float16 and bfloat16 several times as fast as float32, and activations take half the memory
    traffic. How much of a step that is, this record does not say.

    ## Example
    A ResNet or a transformer trained in float32 on a device with tensor cores that is busy all the time.

    ## Use instead
    `torch.autocast("cuda", dtype=torch.bfloat16)` around the forward pass and the loss, from compute capability 8.0 on;
    before it float16 with `torch.amp.GradScaler`. Compare step times and the course of the loss.

    ## When it is fine
    Where the numbers need float32, and in small models, whose kernels are bound by their launch.

    ## Fix safety
    Nothing is changed for you. Results differ: fewer bits in each product.

    ## Confirmed by
    NVML's utilisation, and the dtypes that autograd noted in one backward pass after the warm-up. Silent where these
    were not recorded, where compiled or checkpointed regions hide operations, and in float64.

    ## References
    - PyTorch documentation, torch.amp; PyTorch performance tuning guide, "Use mixed precision and AMP".
    """

    code, name, since = "TPL502", "no-mixed-precision", "0.1.0"
    severity = Severity.INFO

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One trial to run, where the device bounds a run in float32."""
        graph, capability = graph_of(run), capability_of(run)
        if graph is None or capability is None or capability < TENSOR_CORES or not graph.operations:
            return
        bound = device_loop(run)
        if bound is None or graph.of(SINGLE) < _MOST * graph.operations:
            return
        yield Bound(
            self.code,
            self.name,
            f"a trial: the device bounds this run, and {graph.of(SINGLE)} of {_operations(graph)} compute in float32",
            f"the device is busy {percent(bound.busy)} of the time (an upper bound); compute capability "
            f"{capability[0]}.{capability[1]}; {_tf32(run, capability)}; what these operations take was not measured",
            _trial(capability),
            actionable=False,
        )


def _operations(graph: Graph) -> str:
    counted = f"{graph.operations} matrix products and convolutions of a step"
    return f"the first {counted}" if graph.cut else counted


def _tf32(run: Evidence, capability: tuple[int, int]) -> str:
    if capability < BFLOAT16:
        return "this device has no TF32"
    precision, convolutions = run.state.get("matmul_precision"), run.state.get("cudnn_allow_tf32")
    known = {True: "on", False: "off"}
    matmul = "not recorded" if precision is None else known[precision != "highest"]
    of_cudnn = known.get(convolutions, "not recorded") if isinstance(convolutions, bool) else "not recorded"
    return f"TF32 for matrix products: {matmul}, for convolutions: {of_cudnn}"


def _trial(capability: tuple[int, int]) -> str:
    how = (
        '`torch.autocast("cuda", dtype=torch.bfloat16)` around forward and loss'
        if capability >= BFLOAT16
        else '`torch.autocast("cuda", dtype=torch.float16)` around forward and loss, with `torch.amp.GradScaler`'
    )
    return f"try {how}, for some hundred steps; compare the step time and the loss, and keep what is better"
