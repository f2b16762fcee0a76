"""TPL904."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import AFTER, DEFAULT, OTHER, Bound, Loop, loop_of
from torchperf_lint.device_use import device_use
from torchperf_lint.evidence import Evidence, Segment
from torchperf_lint.rule import RunRule


class SlowCodeAfterTheStep(RunRule):
    """Code of the loop that is neither model nor data takes its time: logging, metrics, checkpoints.

    ## What it does
    Says which stretch of the loop, between which two lines, takes a share of the step worth naming without being
    forward, backward, optimizer or loader: mostly from `optimizer.step()` to the next batch, or from `backward()` to
    `optimizer.step()`.

    ## Why it is slow
    The host does this before it launches the next step. Unless the device still has work queued, it idles meanwhile.

    ## Example
    ```python
    for images, labels in loader:
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
        writer.add_histogram("weights", model.weight)
        torch.save(model.state_dict(), "last.pt")
    ```

    ## Use instead
    ```python
    for step, (images, labels) in enumerate(loader):
        optimizer.zero_grad()
        criterion(model(images), labels).backward()
        optimizer.step()
        if step % 200 == 0:
            writer.add_histogram("weights", model.weight)
    ```
    And save once a pass.

    ## When it is fine
    Where the device is busy all the while. Then it costs nothing, and nothing is said.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    Host time between the loop's own marks (batch, backward, step), by the lines of the marks; time blocked by the
    device is left out.

    ## References
    - PyTorch documentation, performance tuning guide.
    """

    code, name, since = "TPL904", "slow-code-after-the-step", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for each stretch that is long enough; none where the device is busy anyway."""
        loop, use = loop_of(run), device_use(run)
        if loop is None or run.requests is not None or (use is not None and use.share >= DEFAULT.busy_device):
            return
        for segment in loop.segments:
            share = segment.ms / loop.total_ms
            if segment.ms / loop.turns < DEFAULT.least_ms or share < DEFAULT.named:
                continue
            if loop.phase_of(segment) in (AFTER, OTHER):
                yield Bound(
                    self.code,
                    self.name,
                    f"{_what(segment)} takes {percent(share)} of the {loop.unit}'s time",
                    f"{_measured(segment, loop)}, on the host",
                    _advice(segment),
                    share,
                )


def _what(segment: Segment) -> str:
    names = {
        "after the step": "what follows the optimizer's step",
        "after backward": "what follows a backward pass without a step",
        "gradients": "what stands between backward and the optimizer's step",
        "between optimizers": "what stands between two optimizers' steps",
        "no backward": "what follows a batch without a backward pass",
    }
    return f"{names.get(segment.phase, 'other code of the loop')} ({_between(segment)})"


def _between(segment: Segment) -> str:
    if segment.start is None or segment.end is None:
        return "places that were too many to keep apart"
    if segment.package is not None and segment.start == segment.end:
        return f"in the loop of {segment.package} that {line(*segment.start)} calls"
    if segment.start == segment.end:
        return f"what {line(*segment.start)} does"
    return f"from {line(*segment.start)} to {line(*segment.end)}"


def _advice(segment: Segment) -> str:
    if segment.package is None:
        return f"do it rarely (`if step % 100 == 0`), after the loop, or in another thread: {_between(segment)}"
    return (
        "callbacks, hooks and loggers run there, yours and the framework's: have them do less, or rarely "
        f"({segment.package} has settings for how often it logs, saves and shows progress): {_between(segment)}"
    )


def _measured(segment: Segment, loop: Loop) -> str:
    return f"{ms(segment.ms / loop.turns)} a {loop.unit}, {ms(segment.ms / max(segment.times, 1))} each time"
