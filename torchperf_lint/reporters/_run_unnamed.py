"""What a run saw that no finding names: lines that wait or copy in every step, and those that do in bursts.

The project's own lines come first, since they are what a reader can change; the lines of an installed package are one
entry for each line of the project that calls them:

    train.py:31: synchronisation (item), 1 a step
    called from train.py:33, 12 lines of package solver: synchronisation (item), 34 a step, most at solver/step.py:22
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torchperf_lint.amounts import ms, often, percent
from torchperf_lint.evidence import Evidence
from torchperf_lint.rates import EVALUATION, STEP, per_eval_batch, per_step, rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.reporters._page import Page
from torchperf_lint.reporters._verdicts import turn
from torchperf_lint.reporters._words import counted, cut, printable
from torchperf_lint.run_report import RunReport
from torchperf_lint.verdict import named
from torchperf_lint.waits import CHECKPOINT, COPY, GRADIENT, OF_INDEX

_MOST_UNFOUND = 10
_MOST_NAMES = 3
_MOST_BURSTS = 3
_LARGE, _SMALL, _FEWEST = 0.15, 0.05, 10
"""Bursts are told where they make so large a part of all waits; a line of them from this part, and so many, on."""
_OF_COPIES = 0.25
"""The same of copies to the host alone: a checkpoint in one of few steps is a large part by the shortness of the run.
"""
ALL = "`--html FILE` and `--output-format json` list all"
_INSTALLED = ("site-packages/", "dist-packages/")
At = tuple[str, int]
"""(path, line)."""


@dataclass(frozen=True)
class Unnamed:
    """What one line of the project does itself, or the lines of a package do that it calls."""

    events: tuple[Event, ...]
    packaged: tuple[At, ...] = ()
    """The lines of a package, the one where most happens first; empty where the line is the project's own."""
    via: At | None = None
    """The project's line that calls these, where one is known."""

    @property
    def waits(self) -> int:
        """How often the host waited."""
        return _waits(self.events)


def unfound(sheet: Page, report: RunReport, told: Sequence[Unnamed] = ()) -> None:
    """The lines that wait or copy in every step where no finding stands, but for those that are told already; ten of
    them. Then those of bursts.
    """
    hot = [entry for entry in unnamed(report) if entry not in told]
    if hot:
        heading = unnamed_heading(report, hot)
        sheet.heading(f"Other {heading[0].lower()}{heading[1:]}" if told else heading)
        shown = cut(hot, _MOST_UNFOUND)
        for entry in shown:
            sheet.paragraph("", f"{unnamed_at(entry, report)}: {said_at(entry, report.run)}")
        if len(hot) > len(shown):
            sheet.paragraph("", f"and {counted(len(hot) - len(shown), 'more line')} ({ALL})")
    often_waiting = bursts(report)
    if often_waiting:
        sheet.heading(bursts_heading(often_waiting, report.run))
        for entry in often_waiting:
            sheet.paragraph("", f"{unnamed_at(entry, report)}: {said_of_burst(entry, report.run)}")


def unnamed_heading(report: RunReport, hot: Sequence[Unnamed]) -> str:
    """What the lines have in common, and what their times mean where they have any."""
    run = report.run
    timed = not run.simulated and any(e.blocked_ms for entry in hot for e in entry.events)
    bound = " (blocked: upper bound)" if timed else ""
    units = {run.eval_unit if of_evaluation(entry.events, run) else turn(run) for entry in hot}
    every = " or ".join(sorted(units, key=lambda unit: unit != turn(run)))
    return f"Waits and copies of every {every} that no finding names{bound}"


def of_evaluation(events: Sequence[Event], run: Evidence) -> bool:
    """Whether it is evaluation that they happen regularly in: a mean over few training steps would mislead."""
    return bool(run.steps) and not run.every_training_step(events)


def unnamed(report: RunReport) -> list[Unnamed]:
    """The events of every step that no finding names."""
    return _folded([events for events in _by_place(report.unfound) if report.run.every_step(events)])


def _by_place(events: Iterable[Event]) -> list[list[Event]]:
    """By line, and by the project's line that called it; what a package does where nobody can say who called it, as in
    its backward pass, goes to where the same line was called from most.
    """
    events = list(events)
    places: dict[tuple[str, int, At | None], list[Event]] = {}
    for event in events:
        places.setdefault((event.path, event.line, event.via), []).append(event)
    for path, line, via in [place for place in places if place[2] is None]:
        called = [place for place in places if place[:2] == (path, line) and place[2] is not None]
        if called:
            most = max(called, key=lambda place: sum(event.count for event in places[place]))
            places[most] += places.pop((path, line, via))
    return list(places.values())


def _folded(places: Iterable[list[Event]]) -> list[Unnamed]:
    """The project's own lines, then the lines of packages by the project's line that called them, the costliest first.
    """
    places = list(places)
    called = {event.path for events in places for event in events if event.via is not None}
    own: list[Unnamed] = []
    packaged: dict[tuple[At | None, str], list[list[Event]]] = {}
    for events in places:
        first = events[0]
        if first.via is None and first.path not in called and not _is_installed(first.path):
            own.append(Unnamed(tuple(events)))
        else:
            whose = "" if first.via is not None else _package(first.path)
            packaged.setdefault((first.via, whose), []).append(events)
    folded = [
        Unnamed(
            tuple(event for events in groups for event in events),
            tuple((events[0].path, events[0].line) for events in sorted(groups, key=lambda e: -_most(e))),
            via,
        )
        for (via, _), groups in packaged.items()
    ]
    return [*own, *sorted(folded, key=_cost)]


def _cost(entry: Unnamed) -> tuple[float, float, int]:
    bubble, blocked = (sum(e.bubble_ms or 0.0 for e in entry.events), sum(e.blocked_ms or 0.0 for e in entry.events))
    return -bubble, -blocked, -_most(entry.events)


def _waits(events: Iterable[Event]) -> int:
    return sum(event.count for event in events if event.kind == "sync")


def _most(events: Iterable[Event]) -> int:
    """A blocking copy is a copy and a synchronisation."""
    events = tuple(events)
    return max(_waits(events), sum(event.count for event in events if event.kind == "copy"))


def unnamed_at(entry: Unnamed, report: RunReport) -> str:
    """`train.py:12`, and `train.py:12:30` where a finding names another place of the same line."""
    if entry.packaged:
        return _packaged_at(entry)
    event = entry.events[0]
    beside = any(
        at.path == event.path and at.line <= event.line <= at.end_line
        for finding in report.report.findings
        for at in (finding.location, *(related.location for related in finding.related))
    )
    return f"{site_of(event)}:{event.column}" if beside and event.column else site_of(event)


def _packaged_at(entry: Unnamed) -> str:
    called = _called(entry.via)
    if len(entry.packaged) == 1:
        return f"in {_whole(entry.packaged[0])}, {called}"
    packages = list(dict.fromkeys(_package(path) for path, _ in entry.packaged))
    what = "package" if all(_is_installed(path) for path, _ in entry.packaged) else "folder"
    several = "s" if len(packages) > 1 else ""
    return f"{called}, {counted(len(entry.packaged), 'line')} of {what}{several} {_listed(packages)}"


def _whole(at: At) -> str:
    """`package odes/step.py:7`; a file that is not installed is no package, and told by its path."""
    return f"package {_shown(at)}" if _is_installed(at[0]) else _shown(at)


def _called(via: At | None) -> str:
    return f"called from {printable(via[0])}:{via[1]}" if via is not None else "called from no line of the script"


def _shown(at: At) -> str:
    path = printable(at[0])
    for installed in _INSTALLED:
        path = path.rpartition(installed)[2]
    return f"{path}:{at[1]}"


def _is_installed(path: str) -> bool:
    return any(installed in path for installed in _INSTALLED)


def _package(path: str) -> str:
    """The top-level name of an installed package, or the directory of what is not installed."""
    shown = _shown((path, 0)).rpartition(":")[0].split("/")
    named_at = 0 if _is_installed(path) else max(len(shown) - 2, 0)
    return shown[named_at].removesuffix(".py")


def site_of(event: Event) -> str:
    """`train.py:12`, or the package's line and the one that led there."""
    if event.via is None:
        return f"{printable(event.path)}:{event.line}"
    return f"in {_whole((event.path, event.line))}, {_called(event.via)}"


def said_at(entry: Unnamed, run: Evidence) -> str:
    """What the events are, how often, and what they cost; what comes in evaluation alone is not said of a step."""
    events, others = apart(entry.events, run)
    parts = [said_of(events), *_rate(events, run)]
    blocked = sum(event.blocked_ms or 0.0 for event in events if event.kind == "sync")
    turns, _ = run.paid_by
    if blocked and turns and not run.simulated:
        parts.append(f"blocked {ms(blocked / turns)} a {turn(run)}")
    bubble = run.bubble_per_step(event for event in events if event.kind == "sync")
    if bubble is not None:
        parts.append(f"the device idles {ms(bubble)} a step for it")
    parts += _most_at(entry)
    return f"{', '.join(parts)}; {', '.join([said_of(others), *_rate(others, run)])}" if others else ", ".join(parts)


def apart(events: Sequence[Event], run: Evidence) -> tuple[Sequence[Event], Sequence[Event]]:
    """Those that come in what they are told by, steps or evaluation, and those that come only in the other."""
    per = per_eval_batch if of_evaluation(events, run) else per_step
    own = [event for event in events if per(event, run) is not None]
    return (own, [event for event in events if event not in own]) if own else (events, ())


def _most_at(entry: Unnamed) -> list[str]:
    return [f"most at {_shown(entry.packaged[0])}"] if len(entry.packaged) > 1 else []


def _rate(events: Sequence[Event], run: Evidence) -> list[str]:
    """How often, of the kind that happens most."""
    rate = rate_of(events, run, EVALUATION if of_evaluation(events, run) else STEP)
    if rate is None:
        return []
    unit = run.eval_unit if rate[1] == EVALUATION else STEP
    return [f"{often(rate[0])} {'an' if unit[0] in 'aeiou' else 'a'} {unit}"]


def said_of(events: Sequence[Event]) -> str:
    """What the events of one place are; of a backward pass, in the gradients of which operations they are."""
    own = [event for event in events if not event.attributes.get(GRADIENT)]
    said = [" and ".join(dict.fromkeys(map(_what, own)))] if own else []
    of = [event for event in events if event.attributes.get(GRADIENT)]
    if of:
        names = list(dict.fromkeys(map(_operation, of)))
        whose = f"in the gradient{'s' if len(names) > 1 else ''} of {_listed(names)}"
        said.append(f"{' and '.join(dict.fromkeys(map(_what, of)))} {whose}")
    return ", ".join(said)


def _operation(event: Event) -> str:
    """`index` (losses.py:12): what the gradient is of, and the forward pass's line where it is known."""
    return f"`{event.attributes[GRADIENT]}`{_at(event, ' (', ')')}"


def _at(event: Event, before: str = ", ", after: str = "") -> str:
    """Where the forward pass called what a gradient is of; nothing where that is not known."""
    path, line = event.origin.shown if event.origin is not None else ("", 0)
    return f"{before}{printable(path)}:{line}{after}" if path else ""


def _listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b, c and 2 more`."""
    shown, left = list(names[:_MOST_NAMES]), len(names) - _MOST_NAMES
    last = f"{left} more" if left > 0 else shown.pop() if len(shown) > 1 else ""
    return f"{', '.join(map(printable, shown))}{f' and {printable(last)}' if last else ''}"


def _what(event: Event) -> str:
    if event.attributes.get(OF_INDEX):
        return f"copy to the device (of an index of the host{_at(event)}, for its gradient)"
    if event.kind == "copy":
        unwaited = ", not waited for" if event.attributes.get("blocking") is False else ""
        way = {"h2d": "copy to the device", "d2h": "copy to the host"}.get(event.what, f"copy ({event.what})")
        return f"{way}{unwaited}"
    return f"synchronisation ({event.what}){' of a checkpoint' if event.attributes.get(CHECKPOINT) else ''}"


def bursts(report: RunReport) -> list[Unnamed]:
    """The three lines with most waits, of those that no finding and no entry of every step names, where they make a
    large part of all waits of the run: games played against oneself, an evaluation by hand, a decoder. Checkpoints are
    none, nor what is saved outside of every loop: how large a part they are says how short the run was.
    """
    run = report.run
    if not (run.steps or run.eval_total):
        return []
    told = named(report.report.findings, run, ("sync", "copy")) | {id(e) for u in unnamed(report) for e in u.events}
    loops = [e for e in run.events if not e.attributes.get(CHECKPOINT)]
    left = [e for e in loops if e.kind in ("sync", "copy") and e.path and id(e) not in told]
    rare = [events for events in _by_place(left) if not run.every_step(events) and not _sets_up(events)]
    rare = [events for events in rare if not _saves(events)]
    whole = _waits(loops)
    found = [entry for entry in _folded(rare) if entry.waits >= max(_SMALL * whole, _FEWEST)]
    found = sorted(found, key=lambda entry: -entry.waits)[:_MOST_BURSTS]
    large = _OF_COPIES if all(_copies_to_host(entry.events) for entry in found) else _LARGE
    return found if sum(entry.waits for entry in found) >= large * whole else []


def _sets_up(events: Sequence[Event]) -> bool:
    """Whether it moves the model to the device before anything trains, or happens in the first step alone."""
    turns = sum(event.train_turns + event.eval_turns for event in events)
    if not turns:
        return any(event.kind == "copy" and event.what == "h2d" for event in events)
    return all(event.first_step == event.over_steps == event.train_steps == 1 for event in events)


def _saves(events: Sequence[Event]) -> bool:
    """Whether all that happens, and in no loop, is that tensors are copied to the host: `torch.save(state)`."""
    return not any(event.train_turns + event.eval_turns for event in events) and _copies_to_host(events)


def _copies_to_host(events: Sequence[Event]) -> bool:
    copied = any(event.kind == "copy" for event in events)
    return copied and all(event.what == ("d2h" if event.kind == "copy" else COPY) for event in events)


def bursts_heading(found: Sequence[Unnamed], run: Evidence) -> str:
    """How large a part of the waits they are."""
    loops = [event for event in run.events if not event.attributes.get(CHECKPOINT)]
    share = percent(sum(entry.waits for entry in found) / _waits(loops))
    return f"{share} of the run's waits come in bursts, not in every step, at lines that no finding names"


def said_of_burst(entry: Unnamed, run: Evidence) -> str:
    """What they are, and in how many steps or turns of evaluation they came."""
    events = [event for event in entry.events if event.kind == "sync"]
    parts = [f"{said_of(events)}, {entry.waits} {_when(events, run)}", *_most_at(entry)]
    return ", ".join(parts)


def _when(events: Sequence[Event], run: Evidence) -> str:
    evaluated = sum(event.evaluated or 0 for event in events)
    steps = min(max((event.train_steps or event.train_turns for event in events), default=0), run.steps)
    if steps and evaluated <= _waits(events) / 2:
        return f"in {steps} of {counted(run.steps, 'step')}"
    part, of = run.evaluated(events)
    if part:
        return f"in {min(part, of)} of {_plural(run.eval_unit, of)}"
    return "outside of every loop"


def _plural(unit: str, number: int) -> str:
    """Of a unit with words after it: `2 calls of the model`."""
    head, space, rest = unit.partition(" ") if unit.startswith("call") else (unit, "", "")
    return f"{counted(number, head)}{space}{rest}"
