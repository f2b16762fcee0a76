"""What rules share when they judge a finding by a recorded run.

The order is always the same: could anything be seen at all, did it happen, how often, and if not, did the line run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from torchperf_lint.evidence import FEWEST_IN_A_ROW, OFTEN_ENOUGH, Evidence
from torchperf_lint.model import Finding, Location, Outcome, Verdict
from torchperf_lint.nearest import nearest, of_kind
from torchperf_lint.rates import rate_of
from torchperf_lint.recorded import Event, LoaderRun

NO_DEVICE = "the run used no CUDA device, so nothing waits for one; `--simulate` shows where it would"
ON_HOST = "all that a step updated is on the CPU and nothing was copied: the script used no device"
ENDED_EARLY = "the run ended before its first step"
_MOST_LINES = 3
_EACH_STEP = "it runs every training step"
"""So the reason begins why a line is hot that runs in the turns of a training loop."""


def by_events(
    finding: Finding,
    run: Evidence,
    events: Iterable[Event],
    what: str,
    *,
    needs_device: bool = True,
    probes: Iterable[str] = (),
) -> Verdict:
    """Confirmed where `events` happen every step, refuted where the line ran without; `what` says it in a noun.

    `probes`: names of those that had to watch, for a silence to mean something.
    """
    if needs_device and run.device is None:
        return Verdict(Outcome.UNOBSERVABLE, NO_DEVICE)
    watched = tuple(probes)
    chosen = of_kind(events, run, copied="transfers" in watched)
    if chosen:
        return happened(run, chosen, what, finding.location, each_step=_claims_each_step(finding))
    blind = next((f"{name}: {run.unwatched[name]}" for name in watched if name in run.unwatched), None)
    if blind is not None:
        return Verdict(Outcome.UNOBSERVABLE, blind)
    if needs_device and run.ran(finding.location) != 0 and run.stayed_on_host:
        return Verdict(Outcome.UNOBSERVABLE, ON_HOST)
    ran = next((place for place in finding.places if run.ran(place) != 0), finding.location)
    return silent(run, ran, what, _lines([ran.line]) if ran != finding.location else "the line")


def happened(
    run: Evidence, events: tuple[Event, ...], what: str, shown: Location | None = None, *, each_step: bool = False
) -> Verdict:
    """The verdict where the events were seen: confirmed if they come every step, or so often as if they did.

    `shown`: the place at which a report shows the finding; of events elsewhere the verdict says where they were.
    `each_step`: that they come every training step is what the finding says: many in a few steps are not that.
    """
    count = sum(event.count for event in events)
    often = f"{count} {what if count == 1 else _plural(what)}{_elsewhere(shown, events) if shown else ''}"
    train, evaluation = run.turns(events)
    turns = [_of_training(run, events, train), (*run.evaluated(events), run.eval_unit)]
    # What follows the last step is counted as one more, where no loader says that it belongs to none.
    seen = [f"in {min(part, whole)} of {_counted(whole, name)}" for part, whole, name in turns if part and whole]
    reason = f"{often} {' and '.join(seen)}" if seen else f"{often} in {_counted(run.steps, 'step')}"
    loops = run.steps or run.eval_total
    if not loops:
        if run.fell_short:
            return Verdict(Outcome.UNOBSERVABLE, f"{often}; {ENDED_EARLY}")
        unknown = f"{often}, and no step was seen to compare with"
        few = count < OFTEN_ENOUGH or run.raised is not None  # what ended in its set-up would have stepped later
        return Verdict(Outcome.UNOBSERVABLE, unknown) if few else _priced(run, events, unknown)
    before = run.before_steps(events)
    if before and count < FEWEST_IN_A_ROW:
        return Verdict(Outcome.REFUTED, f"{often}, all before the first step was over: not every step")
    own = run.of_own_loops(events)
    if own is not None:
        return _priced(run, events, f"{reason}, {own[0]} of the {own[1]} of its optimizer: a loop of its own")
    in_masses = not each_step or not _is_of_steps_alone(run, events)
    # Without a loader, another optimizer's steps may have a loop of their own and yet count as part of the first's.
    joined = len(run.optimizer_calls) > 1 and sum(run.optimizer_calls) > run.steps > 0 == run.train_batches
    if run.every_step(events) or ((in_masses or joined) and count >= loops / 2 and not before):
        return _priced(run, events, reason)
    if in_masses and _most_at_a_line(events) >= OFTEN_ENOUGH * max(train, evaluation, 1):
        return _priced(run, events, f"{reason}: many at a time, in a loop of its own")
    row = run.in_a_row(events)
    if row is not None:
        return _priced(run, events, f"{reason}, which lie within {row} in a row: a loop of its own")
    if run.too_few(events):
        return Verdict(Outcome.UNOBSERVABLE, f"{reason}, too few to judge")
    return Verdict(Outcome.REFUTED, f"{reason}: not every step")


def _most_at_a_line(events: Iterable[Event]) -> int:
    """How often the line with most of them has one: three lines with one each are no loop."""
    lines: dict[tuple[str, int], int] = {}
    for event in events:
        line = event.via or (event.path, event.line)
        lines[line] = lines.get(line, 0) + event.count
    return max(lines.values(), default=0)


def _claims_each_step(finding: Finding) -> bool:
    return (finding.why_hot or "").startswith(_EACH_STEP)


def _is_of_steps_alone(run: Evidence, events: tuple[Event, ...]) -> bool:
    """Whether all of it came in steps that are counted: no evaluation by hand, and nothing of what fills a buffer."""
    return bool(run.steps) and all(e.train_steps and not e.eval_turns and not e.before for e in events)


def _of_training(run: Evidence, events: tuple[Event, ...], train: int) -> tuple[int, int, str]:
    """In how many turns of training, of how many, and what those are called: steps where the record counts these."""
    in_steps = max((event.train_steps for event in events if event.train_steps is not None), default=None)
    if in_steps is not None and run.steps:
        return in_steps, run.steps, "step"
    by_batch = run.train_batches not in (0, run.steps)
    return (train, run.train_batches, "training batch") if by_batch else (train, run.steps, "step")


def _elsewhere(location: Location, events: tuple[Event, ...]) -> str:
    """` at line 13`: where events happened, unless all did at the place that a report shows."""
    here = range(location.line, location.end_line + 1)
    project = [event.via if event.via and event.path != location.path else (event.path, event.line) for event in events]
    if all(path == location.path and line in here for path, line in project):
        return ""
    if any(path != location.path for path, _ in project):
        return ""  # in another file, which the finding names as a place that belongs to it
    return f" at {_lines(sorted({line for _, line in project}))}"


def _lines(numbers: list[int]) -> str:
    """`line 13`, `lines 13 and 20`, `lines 13, 20, 21 and 4 more`."""
    shown = [str(number) for number in numbers[:_MOST_LINES]]
    left = len(numbers) - len(shown)
    last = f"{left} more" if left else shown.pop() if len(shown) > 1 else ""
    return f"line{'s' if last else ''} {', '.join(shown)}{f' and {last}' if last else ''}"


def silent(run: Evidence, location: Location, what: str, line: str = "the line") -> Verdict:
    """The verdict where nothing was seen: what counts is whether the line ran, which is called `line`."""
    ran = run.ran(location)
    if ran is None:
        return Verdict(Outcome.UNOBSERVABLE, f"no probe could tell whether {line} ran (needs Python 3.12)")
    if ran == 0:
        return Verdict(Outcome.NOT_REACHED, f"{line} did not run")
    if ran < OFTEN_ENOUGH:
        return Verdict(Outcome.UNOBSERVABLE, f"{line} ran {'once' if ran == 1 else 'twice'}, too rarely to judge")
    return Verdict(Outcome.REFUTED, f"{line} ran at least {OFTEN_ENOUGH} times without {_a(what)}")


def waits_of_loop(finding: Finding, run: Evidence) -> Verdict | None:
    """Confirmed by what the turns of the loop wait for that a finding is about; None where they do not each step."""
    waits = run.at(finding.loop, "sync") if finding.loop is not None and run.device is not None else ()
    seen = happened(run, waits, "synchronisation", finding.location) if waits else None
    return seen if seen is not None and seen.outcome is Outcome.CONFIRMED else None


def unmeasured(run: Evidence, location: Location, reason: str) -> Verdict:
    """The verdict where no probe sees what a line costs: that it did not run is all a run can say."""
    if run.ran(location) == 0:
        return Verdict(Outcome.NOT_REACHED, "the line did not run")
    return Verdict(Outcome.UNOBSERVABLE, reason)


def by_setting(finding: Finding, run: Evidence, on: bool | None, said: tuple[str, str]) -> Verdict:
    """Judge a switch of the whole process by what a training step found: `said` if it was on, or else off.

    None: nobody looked, as where the run ended before its third step.
    """
    if run.ran(finding.location) == 0:
        return Verdict(Outcome.NOT_REACHED, "the line did not run")
    if on is None:
        return Verdict(Outcome.UNOBSERVABLE, run.unwatched.get("state", "the run ended before its third step"))
    return Verdict(Outcome.CONFIRMED, said[0]) if on else Verdict(Outcome.REFUTED, said[1])


def by_variable(finding: Finding, run: Evidence, variable: str, is_meant: Callable[[str], bool]) -> Verdict:
    """Judge a variable of the environment by its value in a training step; `is_meant`: whether it is what was found."""
    environment = run.state.get("environment")
    value = environment.get(variable) if environment is not None else None
    on = is_meant(value) if value is not None else False if environment is not None else None
    shown = f"{variable} was {value}" if value is not None else f"{variable} was not set"
    return by_setting(finding, run, on, (f"{shown} while it {run.trained}",) * 2)


def by_optimizers(finding: Finding, run: Evidence, switch: str, is_slow: Callable[[object], bool]) -> Verdict:
    """Judge how optimizers update their parameters by those of the finding's class that stepped on a device."""
    if run.ran(finding.location) == 0:
        return Verdict(Outcome.NOT_REACHED, "the line did not run")
    known = [one for one in run.state.get("optimizers") or () if switch in one.get("switches", {})]
    stepped = [one for one in known if one["class"] in finding.message]
    if not stepped:
        return Verdict(Outcome.UNOBSERVABLE, run.unwatched.get("steps", "no such optimizer stepped"))
    there = [one for one in stepped if set(one["devices"]) - {"cpu"}]
    if not there:
        return Verdict(Outcome.UNOBSERVABLE, NO_DEVICE)
    slow = [one for one in there if is_slow(one["switches"][switch])]
    told = [f"{one['class']} updated {one['tensors']} tensors with {switch}={one['switches'][switch]}" for one in slow]
    if told:
        return Verdict(Outcome.CONFIRMED, "; ".join(told))
    return Verdict(Outcome.REFUTED, f"every optimizer that stepped had {switch}={there[0]['switches'][switch]}")


def by_the_data_set(finding: Finding, run: Evidence, what: str) -> Verdict:
    """Judge what a data set does for each item, which workers run unseen, by the loaders over that data set.

    `what` says it with a verb: "opens its file for each sample". The reason why the line is hot names the data set.
    """
    over = [loader for loader in run.loaders if f"`{loader.settings.get('dataset')}." in (finding.why_hot or "")]
    read = [loader for loader in over if loader.batches]
    if not read:
        if over or run.ran(finding.location) == 0:
            return Verdict(Outcome.NOT_REACHED, "no batch was read from a loader over this data set")
        return Verdict(Outcome.UNOBSERVABLE, "no loader over this data set was seen")
    return by_waits(run, read, f"the data set {what}")


def by_waits(run: Evidence, read: Iterable[LoaderRun], said: str) -> Verdict:
    """Confirmed by what is `said`, priced by what the loop waited for these loaders; a simulated run has no price."""
    read = tuple(read)
    waited, batches = sum(loader.steady_wait_ms for loader in read), sum(loader.steady_batches for loader in read)
    if run.simulated:
        given = _counted(sum(loader.batches for loader in read), "batch")
        return Verdict(Outcome.CONFIRMED, f"{said}, seen in {given}; what that costs, a simulated run does not tell")
    if not batches:
        return Verdict(Outcome.CONFIRMED, f"{said}; too few batches to say what they cost")
    reason = f"{said}; the loop waited {waited / batches:.3g} ms for each of {batches} batches"
    return priced(run, Outcome.CONFIRMED, reason, waited)


def until_first_batches(run: Evidence, read: Iterable[LoaderRun]) -> str:
    """`, 12 ms until each first batch`, the mean over passes; nothing in a simulated run, whose times mean nothing."""
    read = tuple(read)
    if run.simulated:
        return ""
    waited = sum(loader.start_ms + loader.first_wait_ms for loader in read)
    return f", {waited / sum(loader.epochs for loader in read):.3g} ms until each first batch"


def _priced(run: Evidence, events: tuple[Event, ...], reason: str) -> Verdict:
    blocked = [event.blocked_ms for event in events if event.blocked_ms is not None]
    bubble = run.bubble_per_step(events)
    times, unit = rate_of(events, run) or (None, None)
    verdict = Verdict(Outcome.CONFIRMED, reason)
    if blocked or bubble is not None:
        verdict = priced(run, Outcome.CONFIRMED, reason, sum(blocked) if blocked else None, bubble)
    return replace(verdict, times=times, times_per=unit)


def priced(
    run: Evidence, outcome: Outcome, reason: str, blocked_ms: float | None, bubble_ms: float | None = None
) -> Verdict:
    """A verdict with its price: `blocked_ms` is the sum after the warm-up, `bubble_ms` that of one step of the window.

    Null where no step came after the warm-up (no batch, where nothing trains), and on a simulated device, where times
    mean nothing. The share of the step is the bubble's where there is one: a host that waits for a busy device loses
    nothing by it.
    """
    turns, total_ms = run.paid_by
    if not turns or run.simulated:
        return Verdict(outcome, reason)
    blocked = None if blocked_ms is None else blocked_ms / turns
    price = bubble_ms if bubble_ms is not None else blocked
    step = total_ms / turns
    share = min(price / step, 1.0) if step and price is not None else None
    return Verdict(outcome, reason, blocked_ms_per_step=blocked, bubble_ms_per_step=bubble_ms, share_of_step=share)


def by_collectives(finding: Finding, run: Evidence, fewest: int = 1, inside: Iterable[Location] = ()) -> Verdict:
    """By the collectives at a finding's place: confirmed where they come every step, `fewest` or more at a time.

    `inside`: where functions that the place calls issue them.

    A group of one process exchanges nothing, so what is called on one refutes.
    """
    events = [event for place in (finding.location, *inside) for event in run.at(place, "collective")]
    shared = tuple(event for event in events if event.attributes.get("processes") != 1)
    if events and not shared:
        count = sum(event.count for event in events)
        return Verdict(Outcome.REFUTED, f"{_counted(count, 'collective')}, in a group of one process")
    count, turns = sum(event.count for event in shared), sum(run.turns(shared))
    if shared and turns and count < fewest * turns:
        return Verdict(Outcome.REFUTED, f"{_counted(count, 'collective')} in {_counted(turns, 'step')}: one at a time")
    return by_events(finding, run, shared, "collective", needs_device=False, probes=("collectives",))


def copies(
    run: Evidence, where: Location | Finding, direction: str, wanted: Callable[[Event], bool]
) -> tuple[Event, ...]:
    """Copies in a direction ("h2d", "d2h") at a place, or at those of a finding, of the kind wanted."""
    return run.at(where, "copy", wanted=lambda event: event.what == direction and wanted(event))


def all_copies(
    run: Evidence, finding: Finding, direction: str, wanted: Callable[[Event], bool]
) -> tuple[Event, ...]:
    """The same at a finding's place and at those in its file that belong to it: `x, y = x.to(d), y.to(d)`."""
    places = [finding.location, *(one.location for one in finding.related)]
    own = [place for place in places if place.path == finding.location.path]
    seen = {id(event): event for place in own for event in nearest(copies(run, place, direction, wanted), place)}
    return tuple(seen.values())


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun if number == 1 else _plural(noun)}"


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _plural(noun: str) -> str:
    """Of a noun with words after it: `copy to the device` -> `copies to the device`."""
    for singular, plural in (("copy", "copies"), ("pass", "passes"), ("batch", "batches"), ("call ", "calls ")):
        if singular in noun:
            return noun.replace(singular, plural, 1)
    return f"{noun}s"
