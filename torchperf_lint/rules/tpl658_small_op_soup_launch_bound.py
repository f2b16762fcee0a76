"""TPL658."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torchperf_lint.amounts import ms, percent
from torchperf_lint.bounds import AFTER, BACKWARD, DATA, DEFAULT, FORWARD, OPTIMIZER, WAITING, Bound, Loop, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.rule import RunRule

_SHORT_US = 10.0
"""A kernel shorter than that is over before the host has launched the next one (nsys calls it launch-bound)."""
_FEWEST_A_STEP = 100
_LAUNCH_MS = 0.05
"""Host time for each kernel up to which launching, in eager Python, explains it; beyond it the host does more."""


class SmallOpSoupLaunchBound(RunRule):
    """The device idles between thousands of tiny kernels that the host cannot launch fast enough.

    ## What it does
    Says that kernels are short and many, that the device was idle between them, and that the host waited for nothing
    else: neither for data, nor for the device. Needs the kernels of a few steps, which only a profiler's window counts;
    a record without one has none, and the rule is silent on it.

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
        loop, kernels = loop_of(run), _Kernels.of(run)
        if loop is None or kernels is None or not _launches_all_the_time(loop, kernels) or not kernels.are_a_soup:
            return
        idle = 1 - kernels.busy
        yield Bound(
            self.code,
            self.name,
            f"the device idles {percent(idle)} of the time between {kernels.per_step:.0f} small kernels a {loop.unit}",
            f"the median kernel takes {kernels.median_us:.1f} us; the host spends {ms(_launching(loop))} a {loop.unit} "
            "in forward, backward and optimizer, and waits neither for data nor for the device",
            'try `torch.compile` (`mode="reduce-overhead"`), fused or foreach optimizers, or larger batches',
            min(idle, loop.share(FORWARD, BACKWARD, OPTIMIZER)),
        )


@dataclass(frozen=True)
class _Kernels:
    """What a window over some steps counted, as state `kernels`: steps, count, median_us, busy_share."""

    per_step: float
    median_us: float
    busy: float
    """Share of the window in which any kernel ran: the union of their times."""

    @classmethod
    def of(cls, run: Evidence) -> _Kernels | None:
        found = run.state.get("kernels")
        if not isinstance(found, Mapping):
            return None
        steps, count, median_us, busy = (
            _number(found.get(name)) for name in ("steps", "count", "median_us", "busy_share")
        )
        if not steps or count is None or median_us is None or busy is None:
            return None
        return cls(count / steps, median_us, busy)

    @property
    def are_a_soup(self) -> bool:
        return self.per_step >= _FEWEST_A_STEP and self.median_us < _SHORT_US and self.busy < DEFAULT.busy_device


def _launches_all_the_time(loop: Loop, kernels: _Kernels) -> bool:
    if any(loop.share(phase) >= DEFAULT.named for phase in (DATA, WAITING, AFTER)):
        return False
    return _launching(loop) <= _LAUNCH_MS * kernels.per_step


def _launching(loop: Loop) -> float:
    """Host time of a step in which kernels are launched, ms."""
    return loop.ms(FORWARD, BACKWARD, OPTIMIZER) / loop.turns


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
