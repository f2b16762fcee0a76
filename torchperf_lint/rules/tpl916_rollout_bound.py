"""TPL916."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, often, percent
from torchperf_lint.bounds import DEFAULT, ROLLOUT, Bound, Loop, loop_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.recorded import Segment
from torchperf_lint.rule import RunRule


class RolloutBound(RunRule):
    """Between updates, the loop calls the model without gradients, again and again: to act, or to be evaluated.

    ## What it does
    Says what share of a step goes into calls, with gradients off, of what is being trained, and into what lies between
    them: the steps of an environment, mostly. Only loops without a loader have such calls told apart.

    ## Why it is slow
    Each call is a small batch, and the environment waits for the host to read its action before the next begins: the
    device idles while the environment steps, and the environment while the model acts.

    ## Example
    ```python
    for update in range(updates):
        for _ in range(horizon):
            with torch.no_grad():
                action = policy(torch.as_tensor(state, device=device)).argmax().item()
            state, reward, ended, *_ = env.step(action)
        learn(policy, optimizer)
    ```

    ## Use instead
    Several environments at once, which one call acts for (`gymnasium.vector`, or an environment that steps a batch on
    the device); a policy on the CPU where it is small; an actor in a process of its own. Where it is an evaluation: run
    it less often, or over fewer batches.

    ## When it is fine
    Where the samples are dear: an environment that is slow by itself sets the pace, and few updates belong to it.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Host time up to each outermost call without gradients of a module whose parameters an optimizer steps on, outside of
    loaders, and from the last of them to the next call with gradients.

    ## References
    - Gymnasium documentation, vector environments.
    """

    code, name, since = "TPL916", "rollout-bound", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where such calls take a share worth naming; none where the device is busy anyway."""
        loop, busy = loop_of(run), machine_of(run.utilisation).gpu_busy
        if loop is None or (busy is not None and busy >= DEFAULT.busy_device):
            return
        share = loop.share(ROLLOUT)
        if share < DEFAULT.named or loop.ms(ROLLOUT) / loop.turns < DEFAULT.least_ms:
            return
        acting = [segment for segment in loop.segments if loop.phase_of(segment) == ROLLOUT]
        yield Bound(
            self.code,
            self.name,
            f"calls of the model without gradients, and what lies between, take {percent(share)} of the step's time",
            _measured(acting, loop),
            f"{_where(acting)}if the model acts there, step several environments at once, so that one call acts for "
            "all; if it is evaluated there, do so less often, or on less data",
            share,
        )


def _measured(acting: list[Segment], loop: Loop) -> str:
    spent, times = sum(segment.ms for segment in acting), sum(segment.times for segment in acting)
    return f"{ms(spent / loop.turns)} a step, {often(times / loop.turns)} stretches of {ms(spent / max(times, 1))} each"


def _where(acting: list[Segment]) -> str:
    longest = max(acting, key=lambda segment: segment.ms)
    return f"look at {line(*longest.end)}, where most of it ends: " if longest.end is not None else ""
