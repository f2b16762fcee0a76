"""Findings about compiled code, judged by what was compiled. Torch-free."""

from __future__ import annotations

from torchperf_lint.compiling import AGAIN, BREAK, FIRST, LIMIT, WHOLE, compilations, guarded, over, reason_of
from torchperf_lint.confirming import priced, unmeasured
from torchperf_lint.evidence import OFTEN_ENOUGH, Evidence
from torchperf_lint.model import Finding, Location, Outcome, Verdict
from torchperf_lint.recorded import Event

_OF_ITS_OWN = "no compilation of this function of its own was seen; it may be part of another's graph"


def graph_ended(finding: Finding, run: Evidence) -> Verdict:
    """Confirmed where the graph ended at the finding's line, refuted where its function was compiled without."""
    location = finding.location
    broken = run.at(location, BREAK)
    if broken:
        times = sum(event.count for event in broken)
        compiled = f"{times} compilation{'s' * (times != 1)}"
        return Verdict(Outcome.CONFIRMED, f"the graph ended here in {compiled}: {reason_of(broken[0]).rstrip('.')}")
    passed = _compiled(run, location)
    if isinstance(passed, Verdict):
        return passed
    earlier = [e for e in run.events if e.kind == BREAK and e.path == location.path and e.line < location.line]
    cut = [e for e in earlier if any(first.line <= e.line for first in passed)]
    if cut and not any(e.attributes.get("resumed") for e in passed):
        return Verdict(Outcome.UNOBSERVABLE, f"the graph ended before this line, at line {cut[-1].line}")
    if any(event.what == WHOLE for event in cut):
        return Verdict(Outcome.UNOBSERVABLE, "a part of this function runs uncompiled")
    times = max(event.count for event in passed)
    return Verdict(Outcome.REFUTED, f"the function was compiled {_times(times)}, and no graph ended at this line")


def compiled_again(finding: Finding, run: Evidence) -> Verdict:
    """Confirmed where a guard on the finding's line failed time and again, refuted where it did not."""
    location = finding.location
    events = [event for event in compilations(run, AGAIN, LIMIT) if _concerns(event, location)]
    again = [event for event in events if event.what == AGAIN]
    times, refused = sum(event.count for event in again), len(events) > len(again)
    if times > 1 or refused:
        guard = next((event.attributes["guard"] for event in events if event.attributes.get("guard")), None)
        reason = f"compiled again {_times(times)}{f' for `{guard}`' if guard else ''}"
        if refused:
            reason += "; then torch compiled it no more"
        timed = [event.blocked_ms for event in again if event.blocked_ms is not None]
        return priced(run, Outcome.CONFIRMED, reason, sum(timed)) if timed else Verdict(Outcome.CONFIRMED, reason)
    passed = _compiled(run, location)
    if isinstance(passed, Verdict):
        return passed
    turns = max(run.steps, run.eval_batches)
    if turns < OFTEN_ENOUGH:
        return Verdict(Outcome.UNOBSERVABLE, "the run was too short to see whether it is compiled again")
    said = "compiled again once only" if times else "not compiled again"
    return Verdict(Outcome.REFUTED, f"{said} for this value, in {turns} {'steps' if run.steps else 'batches'}")


def _compiled(run: Evidence, location: Location) -> list[Event] | Verdict:
    """Compilations of the function that a place stands in; a verdict where there is none to judge by."""
    if "compilation" in run.unwatched:
        return Verdict(Outcome.UNOBSERVABLE, f"compilation: {run.unwatched['compilation']}")
    found = compilations(run)
    if not found:
        return unmeasured(run, location, "nothing was compiled in this run")
    here = list(over(found, location))
    passed = [event for event in here if event.what in (FIRST, AGAIN)]
    if passed:
        return passed
    if here:
        return Verdict(Outcome.UNOBSERVABLE, f"the function could not be compiled: {reason_of(here[0]).rstrip('.')}")
    return Verdict(Outcome.UNOBSERVABLE, _OF_ITS_OWN)


def _concerns(event: Event, location: Location) -> bool:
    """Whether the guard that failed is one of the place's; of its whole function, where the record does not say."""
    at = guarded(event)
    if at is None:
        return any(over([event], location)) and not event.attributes.get("guard")
    return at[0] == location.path and location.line <= at[1] <= location.end_line


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")
