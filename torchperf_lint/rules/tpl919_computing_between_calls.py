"""TPL919."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.answering import BetweenCalls, Stretch
from torchperf_lint.bounds import DEFAULT, Bound
from torchperf_lint.evidence import Evidence
from torchperf_lint.machine import machine_of
from torchperf_lint.recorded import Requests
from torchperf_lint.rule import RunRule

_MOST = 3


class ComputingBetweenCalls(RunRule):
    """A run that answers computes between two calls of its model: preprocessing, on the host, takes the time.

    ## What it does
    Says what share of the time of an answer the calling thread computes between the end of one call of a model and the
    beginning of its next, and between which lines. A thread that waits there, for requests, is told nothing.

    ## Why it is slow
    Decoding, resizing, tokenizing and packing of answers run on the thread that calls the model, one request at a time:
    meanwhile no model computes, and a device idles.

    ## Example
    ```python
    while True:
        request = inbox.get()
        picture = resize_pixel_by_pixel(decode(request.payload))
        with torch.inference_mode():
            request.reply = model(torch.from_numpy(picture).unsqueeze(0))
    ```

    ## Use instead
    Whole arrays in place of loops in Python (`torch.nn.functional.interpolate`, numpy, torchvision), several requests
    at once, and processes that prepare the next request while the model computes.

    ## When it is fine
    Where answers are fast enough as they are.

    ## Fix safety
    Nothing is changed for you.

    ## Confirmed by
    CPU time of the calling thread between its calls of modules, without what it stands still for the device; what the
    model computes between calls of its own parts counts as the model's.

    ## References
    - Python documentation, `time.thread_time`.
    """

    code, name, since = "TPL919", "computing-between-calls", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One, where the share is worth a word; none where it may be waiting for a device, or one is busy anyway."""
        requests, busy = run.requests, machine_of(run.utilisation).gpu_busy
        if requests is None or requests.between is None or run.simulated:
            return
        if (run.device is not None and "host-sync" in run.unwatched) or (busy or 0.0) >= DEFAULT.busy_device:
            return
        between = requests.between
        share = between.share
        if share is None or share < DEFAULT.between_calls or between.cpu_ms / between.times < DEFAULT.least_ms:
            return
        longest = between.stretches[0]
        yield Bound(
            self.code,
            self.name,
            f"what the host computes between two calls of the model ({_lines(longest)}) takes {percent(share)} of the "
            "time of an answer",
            _measured(between, requests),
            _advice(longest),
            share,
        )


def _lines(stretch: Stretch) -> str:
    if stretch.start is None or stretch.end is None:
        return "of places that were too many to keep apart"
    if stretch.package is not None:
        return f"in {stretch.package}, which {line(*stretch.end)} calls"
    if stretch.start == stretch.end:
        return f"from the end of the call at {line(*stretch.start)} to the next there"
    return f"from the end of the call at {line(*stretch.start)} to the call at {line(*stretch.end)}"


def _measured(between: BetweenCalls, requests: Requests) -> str:
    each, calls = between.cpu_ms / between.times, between.in_calls_ms / between.times
    parts = [f"{ms(each)} of CPU time of the calling thread between two calls, {ms(calls)} in calls"]
    if len(between.stretches) > 1:
        longest = between.stretches[:_MOST]
        parts.append("; ".join(f"{_lines(one)}: {ms(one.cpu_ms / one.times)}, {one.times} times" for one in longest))
    free = requests.idle_share
    if free is not None:
        parts.append(f"{percent(free)} of the run's time lies between two {requests.unit}s, waiting included")
    return "; ".join(parts)


def _advice(longest: Stretch) -> str:
    place = f": look at what runs {_lines(longest)}" if longest.start is not None else ""
    return (
        "prepare requests with whole arrays (numpy, torch) in place of loops in Python, several at once, or in other "
        f"processes while the model computes{place}"
    )
