"""TPL658."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import (
    AFTER,
    BACKWARD,
    BETWEEN,
    DATA,
    DEFAULT,
    FORWARD,
    OPTIMIZER,
    WAITING,
    Bound,
    Loop,
    loop_of,
)
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule
from torchperf_lint.window import Kernels, kernels_of

_SHORT_US = 10.0
"""A kernel shorter than that is over before the host has launched the next one (nsys calls it launch-bound)."""
_FEWEST_A_STEP = 100
_LAUNCH_MS = 0.08
"""Host time for each kernel up to which launching, in eager Python, explains it; beyond it the host does more.

With 0.05, reports of eager training beside an H200 said nothing of runs whose device idled nine tenths of the time
between short kernels: a profiler, without which none are counted, makes launching dearer."""


class SmallOpSoupLaunchBound(RunRule):
    """The device idles between thousands of tiny kernels that the host cannot launch fast enough.

    ## What it does
    Says that kernels are short and many, that the device was idle between them, and that the host waited for nothing
    else: neither for data, nor for the device. Needs the kernels of a few steps, which a profiler's window counts
    (`--window`); a record without one has none, and the rule is silent on it.

    ## Why it is slow
    Launching a kernel costs the host some microseconds, in eager Python tens of them. A kernel that runs for less
    leaves the device idle until the next arrives.

    ## Example
    A small model, a loss of many elementwise operations, or an optimizer that steps each parameter by itself.

    ## Use instead
    Fewer and larger kernels: `torch.compile` (with `mode="reduce-overhead"` for CUDA graphs), fused operations,
    `foreach=True` or `fused=True` optimizers, larger batches.

    ## When it is fine
    Where a step is short enough for its purpose.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Kernels a step, their median time, the share of time in which any of them ran, and host time by phase.

    ## References
    - Holistic Trace Analysis: kernel launch statistics.
    - PyTorch documentation, CUDA semantics: CUDA graphs.
    """

    code, name, since = "TPL658", "small-op-soup-launch-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where launches are what the device waits for."""
        loop, kernels = loop_of(run), kernels_of(run.state)
        if loop is None or kernels is None or not _launches_all_the_time(loop, kernels) or not _are_a_soup(kernels):
            return
        idle = 1 - kernels.busy
        yield Bound(
            self.code,
            self.name,
            f"the device idles {percent(idle)} of the time between {kernels.per_step:.0f} small kernels a {loop.unit}",
            f"the median kernel takes {kernels.median_us:.1f} us{_short(kernels)}; the host spends "
            f"{ms(_launching(loop))} a {loop.unit} in forward, backward and optimizer, and waits neither for data nor "
            "for the device",
            'try `torch.compile` (`mode="reduce-overhead"`), fused or foreach optimizers, or larger batches',
            min(idle, loop.share(FORWARD, BACKWARD, OPTIMIZER)),
        )


def _are_a_soup(kernels: Kernels) -> bool:
    few_and_long = kernels.per_step < _FEWEST_A_STEP or kernels.median_us >= _SHORT_US
    return not few_and_long and kernels.busy < DEFAULT.busy_device


def _short(kernels: Kernels) -> str:
    if kernels.short is None:
        return ""
    return f", those under {_SHORT_US:.0f} us are {percent(kernels.short)} of the kernels' time"


def _launches_all_the_time(loop: Loop, kernels: Kernels) -> bool:
    if any(loop.share(phase) >= DEFAULT.named for phase in (DATA, WAITING, AFTER, BETWEEN)):
        return False
    return _launching(loop) <= _LAUNCH_MS * kernels.per_step


def _launching(loop: Loop) -> float:
    """Host time of a step in which kernels are launched, ms."""
    return loop.ms(FORWARD, BACKWARD, OPTIMIZER) / loop.turns
