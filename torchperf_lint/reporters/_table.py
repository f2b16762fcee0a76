"""What a watched block did, as a table in HTML for notebooks. Whatever comes from the run is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from torchperf_lint.amounts import NOT_MEASURED, ms, number, often
from torchperf_lint.evidence import Evidence
from torchperf_lint.rates import EVALUATION, rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.reporters._run import facts
from torchperf_lint.reporters._run_unnamed import said_of, site_of
from torchperf_lint.untold import counts_without

_HEAD = ("where", "what", "times", "a step", "blocked, ms")
_MOST = 50
_MACHINE = "not measured: GPU, CPU and disk, which only `torchperf-lint --runtime` samples"


def table(run: Evidence) -> str:
    """Lines that wait or copy, the most frequent first, under a line about the run."""
    places: dict[tuple[object, ...], list[Event]] = {}
    for event in sorted(run.events, key=lambda e: (-e.count, e.path, e.line, e.kind, e.what)):
        if event.kind in ("sync", "copy"):
            places.setdefault((event.path, event.line, event.via), []).append(event)
    parts = [_paragraph(" | ".join(_facts(run)))]
    if places:
        parts.append(_table([_row(events, run) for events in list(places.values())[:_MOST]]))
    else:
        parts.append(_paragraph(_nothing(run)))
    if len(places) > _MOST:
        parts.append(_paragraph(f"and {len(places) - _MOST} more lines"))
    return "<div>" + "".join([*parts, *map(_paragraph, _notes(run))]) + "</div>"


def _facts(run: Evidence) -> list[str]:
    wall = [f"{ms(run.wall_s * 1000)} in all"] if run.wall_s is not None and not run.simulated else []
    return [*facts(run), *wall]


def _nothing(run: Evidence) -> str:
    """No device, no answer: that is no absence of waits."""
    return "not measured: there was no device to wait for" if run.device is None else "no wait, no copy"


def _row(events: Sequence[Event], run: Evidence) -> tuple[str, ...]:
    blocked = [event.blocked_ms for event in events if event.kind == "sync" and event.blocked_ms is not None]
    return (
        site_of(events[0]),
        said_of(events),
        str(_most(events)),
        _rate(events, run),
        number(sum(blocked)) if blocked and not run.simulated else NOT_MEASURED,
    )


def _rate(events: Sequence[Event], run: Evidence) -> str:
    rate = rate_of(events, run)
    if rate is None:
        return NOT_MEASURED
    return f"{often(rate[0])} (evaluation)" if rate[1] == EVALUATION else often(rate[0])


def _most(events: Sequence[Event]) -> int:
    """A blocking copy is a copy and a synchronisation."""
    return max(sum(event.count for event in events if event.kind == kind) for kind in ("sync", "copy"))


def _notes(run: Evidence) -> Iterable[str]:
    missing = {event.what for event in run.events if event.kind == "unsupported"}
    lacking = sorted(what for what in missing if not counts_without(what))
    if lacking:
        yield f"the simulation cannot do this, so counts may lack some: {'; '.join(lacking)}"
    failed = {name: why for name, why in run.unwatched.items() if run.device is not None or name == "torch"}
    if failed:
        yield "not watched: " + "; ".join(f"{name} ({why})" for name, why in sorted(failed.items()))
    if not run.simulated:
        yield _MACHINE


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in _HEAD)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"
