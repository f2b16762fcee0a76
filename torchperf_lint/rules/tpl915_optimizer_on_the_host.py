"""TPL915."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent, us
from torchperf_lint.bounds import BACKWARD, DEFAULT, FORWARD, OPTIMIZER, Bound, Loop, loop_of
from torchperf_lint.device_use import device_use
from torchperf_lint.evidence import Evidence
from torchperf_lint.optimizers import Optimizer, optimizers_of, step_of
from torchperf_lint.rule import RunRule


class OptimizerOnTheHost(RunRule):
    """The optimizer's step takes the host a quarter of the training step, or more.

    ## What it does
    Says what share of a step `optimizer.step()` takes, how many tensors it updates and what each costs, which class it
    is, whether the project or a package defines it, and which of torch's fast forms are off.

    ## Why it is slow
    A loop in Python over parameters makes some ten calls of torch for each of them, at microseconds each, however small
    the parameter: hundreds of small ones cost more than the model. A fused step is one call for all of them.

    ## Example
    ```python
    class Momentum(torch.optim.Optimizer):
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    buffer = self.state[p]["momentum"]
                    buffer.mul_(0.9).add_(p.grad)
                    p.data.add_(buffer, alpha=-group["lr"])
    ```

    ## Use instead
    ```python
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    ```
    For a method that torch lacks, `torch._foreach_mul_`, `torch._foreach_add_` and their like over lists of tensors.

    ## When it is fine
    Where the parameters are many and the batch is small: reading and writing all of them takes its time. On a CPU,
    tensors of 20,000 elements and more are named from half of the step on, unless code that is not torch's is slow.

    ## Fix safety
    Nothing is changed for you. Fused and looped forms round differently in the last digits.

    ## Confirmed by
    Host time from the beginning of `optimizer.step()` to its end, per step; forward and backward take 1 ms or more, for
    shares of a toy say nothing.

    ## References
    - PyTorch documentation, torch.optim: the for-loop, foreach and fused implementations.
    """

    code, name, since = "TPL915", "optimizer-on-the-host", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the optimizer's share is worth a word; none where the device is busy anyway."""
        loop, use = loop_of(run), device_use(run)
        if loop is None or not run.steps or (use is not None and use.share >= DEFAULT.busy_device):
            return
        share = loop.share(OPTIMIZER)
        known = optimizers_of(run)
        least = DEFAULT.optimizer_large if _is_merely_large(run, known) else DEFAULT.optimizer
        if share < least or loop.ms(OPTIMIZER) / loop.turns < DEFAULT.optimizer_ms or _is_toy(loop):
            return
        fused = bool(known) and all(one.switches.get("fused") is True and one.place is None for one in known)
        yield Bound(
            self.code,
            self.name,
            f"the optimizer's step takes {percent(share)} of the step's time on the host",
            f"{ms(loop.ms(OPTIMIZER) / loop.turns)} a step{_each(run, known)}{''.join(map(_said, known))}",
            "; ".join(dict.fromkeys(map(_advice, known))) or "nothing is known of this optimizer",
            share,
            actionable=bool(known) and not fused,
        )


def _is_toy(loop: Loop) -> bool:
    return loop.ms(FORWARD, BACKWARD) / loop.turns < DEFAULT.optimizer_ms


def _is_merely_large(run: Evidence, known: tuple[Optimizer, ...]) -> bool:
    """Whether the CPU is busy with the elements themselves, and not with calls for each of many small tensors."""
    elements, tensors = sum(one.parameters for one in known), sum(one.tensors for one in known)
    if not tensors or elements / tensors < DEFAULT.large_tensor or not all(one.on_cpu for one in known):
        return False
    spent, times = step_of(run)
    # Of several kinds the timeline does not tell which stepped when: as if they took turns.
    quick = spent * 1e6 * len(known) < DEFAULT.element_ns * elements * times
    return quick or all(one.package == "torch" for one in known)


def _each(run: Evidence, known: tuple[Optimizer, ...]) -> str:
    """What a tensor costs, where the optimizers are of one kind."""
    spent, times = step_of(run)
    if len(known) != 1 or not known[0].tensors or not times:
        return ""
    return f", {us(spent / times / known[0].tensors)} a tensor"


def _said(one: Optimizer) -> str:
    switches = [f"{name}={one.switches[name]}" for name in ("foreach", "fused") if name in one.switches]
    where = f"; its step: {line(*one.place)}" if one.place is not None else ""
    on = f" on {', '.join(one.devices)}" if one.devices else ""
    tensors = f"{one.tensors} tensor{'' if one.tensors == 1 else 's'}"
    how = f" ({', '.join(switches)})" if switches else ""
    return f"; {one.name}{how}, {tensors}{on}{where}"


def _advice(one: Optimizer) -> str:
    if one.place is not None or one.package is None:
        where = f"at {line(*one.place)} " if one.place is not None else ""
        return (
            f"where `{one.name}.step` {where}goes through parameters one by one, take torch's own class of that method "
            "with `fused=True`, or call `torch._foreach_*` on lists of tensors"
        )
    if one.switches.get("fused") is True:
        return f"{one.name} is fused already: only fewer steps (larger batches) or fewer parameters take less time"
    if "fused" in one.switches:
        since = " (on the CPU since torch 2.4)" if one.on_cpu else ""
        return f"pass `fused=True` to {one.name}{since}"
    if one.switches.get("foreach", True) is False and not one.on_cpu:
        return f"leave {one.name}'s `foreach` at its default, which is on for CUDA"
    if one.package == "torch":
        return f"torch has no fused {one.name}: take AdamW or SGD with `fused=True` where they will do"
    return f"see whether {one.package} has a fused {one.name}, or take torch's AdamW or SGD with `fused=True`"
