"""TPL904."""

from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.amounts import line, ms, percent
from torchperf_lint.bounds import AFTER, BETWEEN, DEFAULT, OTHER, Bound, Loop, loop_of
from torchperf_lint.device_use import device_use
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event, Segment
from torchperf_lint.rule import RunRule

_GRADIENTS = "gradients"
"""The timeline's word for what stands between backward and the optimizer's step."""
_MOSTLY = 0.5
"""Share of the stretches' time that collectives must block for, to be what they are about."""
_MOST = 3
_EXCHANGING = "exchange between ranks less often, and several values in one collective"


class SlowCodeAfterTheStep(RunRule):
    """Code of the loop that is neither model nor data takes its time: logging, metrics, checkpoints.

    ## What it does
    Says which stretch of the loop, between which two lines, takes a share of the step worth naming without being
    forward, backward, optimizer or loader: mostly from `optimizer.step()` to the next batch, or from `backward()` to
    `optimizer.step()`. Where no loader feeds training it is from `optimizer.step()` to the next call of the model, and
    making the batch is part of it. Where collectives that Python calls block for most of that time, their lines are
    named.

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
    Host time between the loop's own marks (batch, first call of the model after a step where no loader is read,
    backward, step), by the lines of the marks; time blocked by the device is left out.

    ## References
    - PyTorch documentation, performance tuning guide.
    """

    code, name, since = "TPL904", "slow-code-after-the-step", "0.1.0"

    def diagnose(self, run: Evidence) -> Iterator[Bound]:
        """One for each kind of advice that stretches long enough ask for; none where the device is busy anyway."""
        loop, use = loop_of(run), device_use(run)
        if loop is None or run.requests is not None or (use is not None and use.share >= DEFAULT.busy_device):
            return
        groups: dict[tuple[str | None, str | None], list[Segment]] = {}
        for segment in _long(loop):
            kind = segment.phase if segment.phase in (_GRADIENTS, BETWEEN) else None
            groups.setdefault((segment.package, kind), []).append(segment)
        exchanged = _exchanged(run, [segment for group in groups.values() for segment in group])
        # Where the ranks' exchange is most of what is long, it is one cause, however many stretches it shows in.
        for group in [list(_long(loop))] if exchanged else groups.values():
            yield self._bound(loop, sorted(group, key=lambda segment: -segment.ms), exchanged)

    def _bound(self, loop: Loop, group: list[Segment], exchanged: list[Event]) -> Bound:
        share = sum(segment.ms for segment in group) / loop.total_ms
        return Bound(
            self.code,
            self.name,
            f"{_title(group)} takes {percent(share)} of the {loop.unit}'s time",
            f"{_measured(group, loop)}{_exchange(exchanged, loop)}",
            f"{_EXCHANGING}; begin with {_site(exchanged[0])}" if exchanged else _advice(group),
            share,
        )


def _long(loop: Loop) -> Iterator[Segment]:
    for segment in loop.segments:
        worth_a_word = segment.ms / loop.turns >= DEFAULT.least_ms and segment.ms / loop.total_ms >= DEFAULT.named
        if worth_a_word and loop.phase_of(segment) in (AFTER, BETWEEN, OTHER):
            yield segment


def _exchanged(run: Evidence, group: list[Segment]) -> list[Event]:
    """The collectives, longest first, where they block for most of the stretches' time; else none."""
    events = [event for event in run.events if event.kind == "collective" and event.blocked_ms and event.train_turns]
    if sum(event.blocked_ms or 0.0 for event in events) < _MOSTLY * sum(segment.ms for segment in group):
        return []
    return sorted(events, key=lambda event: (-(event.blocked_ms or 0.0), event.path, event.line))


def _exchange(events: list[Event], loop: Loop) -> str:
    if not events:
        return ""
    whole = ms(sum(event.blocked_ms or 0.0 for event in events) / loop.turns)
    parts = [f"{_site(e)} ({e.what}) {ms((e.blocked_ms or 0.0) / loop.turns)}" for e in events[:_MOST]]
    return f"; collectives that Python calls block {whole} a {loop.unit}; longest: {', '.join(parts)}"


def _site(event: Event) -> str:
    return line(*event.via) if event.via is not None else line(event.path, event.line)


def _title(group: list[Segment]) -> str:
    if len(group) > 1:
        return f"code of the loop beside model and data, in {len(group)} stretches,"
    first = group[0]
    if first.phase == BETWEEN and first.package is None and first.start is not None and first.end is not None:
        return (
            f"what lies between the optimizer's step ({line(*first.start)}) and the call of the model "
            f"({line(*first.end)})"
        )
    return f"{_what(first)} ({_between(first)})"


def _what(segment: Segment) -> str:
    names = {
        "after the step": "what follows the optimizer's step",
        BETWEEN: "what lies between the optimizer's step and the call of the model",
        "after backward": "what follows a backward pass without a step",
        _GRADIENTS: "what stands between backward and the optimizer's step",
        "between optimizers": "what stands between two optimizers' steps",
        "no backward": "what follows a batch without a backward pass",
    }
    return names.get(segment.phase, "other code of the loop")


def _between(segment: Segment) -> str:
    if segment.start is None or segment.end is None:
        return "places that were too many to keep apart"
    if segment.package is not None and segment.start == segment.end:
        return f"in the loop of {segment.package} that {line(*segment.start)} calls"
    if segment.start == segment.end:
        return f"what {line(*segment.start)} does"
    same = segment.start[0] == segment.end[0]
    return f"from {line(*segment.start)} to {f'line {segment.end[1]}' if same else line(*segment.end)}"


def _advice(group: list[Segment]) -> str:
    first = group[0]
    places = ", ".join(dict.fromkeys(_between(segment) for segment in group))
    if first.package is not None:
        clipped = "gradients are clipped there; " if first.phase == _GRADIENTS else ""
        return (
            f"{clipped}callbacks, hooks and loggers run there, yours and the framework's: have them do less, or rarely "
            f"({first.package} has settings for how often it logs, saves and shows progress): {places}"
        )
    if first.phase == _GRADIENTS:
        return (
            "clip gradients in one call for all parameters, and look at them (norms, histograms, checks) rarely: "
            f"{places}"
        )
    if first.phase == BETWEEN:
        return (
            "batches are made there, too, where no loader makes them: whole batches by index, or a DataLoader with "
            f"workers; log and save rarely (`if step % 100 == 0`), or in another thread: {places}"
        )
    return f"do it rarely (`if step % 100 == 0`), after the loop, or in another thread: {places}"


def _measured(group: list[Segment], loop: Loop) -> str:
    if len(group) == 1:
        return f"{_times(group[0], loop)}, on the host"
    return f"on the host: {'; '.join(f'{_what(s)} ({_between(s)}) {_times(s, loop)}' for s in group)}"


def _times(segment: Segment, loop: Loop) -> str:
    a_turn, each = ms(segment.ms / loop.turns), ms(segment.ms / max(segment.times, 1))
    return f"{a_turn} a {loop.unit}" + (f", {each} each time" if each != a_turn else "")
