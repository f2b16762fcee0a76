"""Which lines that no finding names make a large part of what a run waits and copies, and what happens at them.

They stand among the findings to mend first, by how often they happen:

    1. ner.py:39: synchronisation (item), 48 a step (no finding names it)
       39 |     if valid_ids[i][j].item() == 1:
          |        ^^^^^^^^^^^^^^^^^^^^^^
       what        the host reads one value of the device: ...
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Location
from torchperf_lint.rates import EVALUATION, STEP, rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.reporters._run_unnamed import Unnamed, apart, of_evaluation, unnamed
from torchperf_lint.run_report import RunReport
from torchperf_lint.verdict import NEGLIGIBLE
from torchperf_lint.waits import GRADIENT

_LARGE = 0.1
"""The part of all waits, or of all copies, of steps and evaluation from which a line is told among the first."""
_MORE_THAN_ONCE = 1.5
"""Times a turn from which it is, where nobody knows what it costs: the list of all such lines is enough for once."""
_TO_THE_END = 10_000
_READ = (
    "the host reads one value of the device: `.item()`, `float()`, `int()`, an `if` or a comparison on a tensor, its "
    "text, a tensor as an index or a size"
)
_SIZE = "how large the result is only the device knows, and the host needs it: nonzero, a boolean mask, unique"
_MEANINGS = {
    "item": _READ,
    "h2d": "memory of the host is copied to the device: make it there, or once, or from pinned memory without waiting",
    "d2h": "a tensor of the device is copied to the host: `.cpu()`, `.numpy()`, `.tolist()`, its text",
    **dict.fromkeys(("nonzero", "mask-index", "masked-select", "unique", "repeat-interleave", "coalesce"), _SIZE),
    "equal": "`torch.equal` answers the host",
    "linalg-check": "the host asks whether the decomposition worked",
    "normal-std-check": "`torch.normal` asks whether a deviation is negative",
    "stream": _READ,
    "device-synchronize": "the program asks to wait for all that the device has to do",
    "stream-synchronize": "the program asks to wait for what a stream has to do",
    "event-synchronize": "the program asks to wait for an event",
}
"""By the event's `what`; of a blocking copy, that of the copy."""


@dataclass(frozen=True)
class Foremost:
    """A line that no finding names, and what it costs."""

    entry: Unnamed
    at: Location
    """The line to look at: the project's own, or the one that calls the package."""
    times: float
    unit: str
    share: float | None
    """Of the step, where times were measured."""
    bubble_ms: float | None
    blocked_ms: float | None
    meaning: str | None


def foremost(report: RunReport) -> list[Foremost]:
    """Those that the reader's own line leads to, with a share of the step that is worth a change, or else with a large
    part of what happens in the turns of the run.
    """
    run = report.run
    whole = _in_turns(run.events)
    hot = (entry for entry in unnamed(report) if entry.waits and not _follows(entry.events))
    found = (told for entry in hot for told in _priced(entry, run))
    return [told for told in found if _is_large(told, whole)]


def _follows(events: Iterable[Event]) -> bool:
    """Whether all of it belongs to gradients: `loss.backward()` is not the line to change, but what it goes back to."""
    return all(event.attributes.get(GRADIENT) for event in events)


def _is_large(told: Foremost, whole: int) -> bool:
    if told.share is not None:
        return told.share >= NEGLIGIBLE
    return told.times >= _MORE_THAN_ONCE and _in_turns(told.entry.events) >= _LARGE * whole


def _in_turns(events: Iterable[Event]) -> int:
    """How many came in steps and evaluation, not what set up the run. A blocking copy is a copy and a wait."""
    counts = dict.fromkeys(("sync", "copy"), 0)
    for event in events:
        if event.kind in counts:
            counts[event.kind] += _counted(event)
    return max(counts.values())


def _counted(event: Event) -> int:
    if event.trained is None and event.evaluated is None:
        return event.count if event.train_turns + event.eval_turns else 0
    return (event.trained or 0) + (event.evaluated or 0)


def _priced(entry: Unnamed, run: Evidence) -> Iterator[Foremost]:
    at = _location(entry)
    events, _ = apart(entry.events, run)
    rate = rate_of(events, run, EVALUATION if of_evaluation(events, run) else STEP)
    if at is None or rate is None:
        return
    blocked, bubble, share = _prices(entry, run)
    yield Foremost(entry, at, *rate, share, bubble, blocked, _meaning(entry.events))


def _prices(entry: Unnamed, run: Evidence) -> tuple[float | None, float | None, float | None]:
    """Blocked ms a turn, ms of bubble a step, share of the turn."""
    turns, total_ms = run.paid_by
    waits = [event for event in entry.events if event.kind == "sync"]
    if run.simulated or not turns:
        return None, None, None
    known = [event.blocked_ms for event in waits if event.blocked_ms is not None]
    blocked, bubble = sum(known) / turns if known else None, run.bubble_per_step(waits)
    price = bubble if bubble is not None else blocked
    share = min(price * turns / total_ms, 1.0) if total_ms and price is not None else None
    return blocked, bubble, share


def _location(entry: Unnamed) -> Location | None:
    event = entry.events[0]
    if entry.packaged:
        return Location(*entry.via, 1, entry.via[1], _TO_THE_END) if entry.via is not None else None
    if event.column is None or event.end_line is None or event.end_column is None:
        return Location(event.path, event.line, 1, event.line, _TO_THE_END)
    return Location(event.path, event.line, event.column, event.end_line, event.end_column)


def _meaning(events: Iterable[Event]) -> str | None:
    """Of what happens most, where it is known; of a blocking copy the copy tells more than its wait."""
    counts: dict[str, int] = {}
    for event in events:
        counts[event.what] = counts.get(event.what, 0) + event.count
    ways = [what for what in counts if what in _MEANINGS]
    return _MEANINGS[max(ways, key=counts.__getitem__)] if ways else None
