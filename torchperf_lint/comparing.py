"""Two runs, before and after a change: what is gone, new, better, worse or the same, and what cannot be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from torchperf_lint.amounts import ms, often, percent
from torchperf_lint.bounds import loop_of
from torchperf_lint.comparable import EXACT, Change, Scale, incomparable, threshold_of
from torchperf_lint.evidence import Evidence
from torchperf_lint.model import Diagnosis, Finding, Outcome, Verdict
from torchperf_lint.patterns import pattern
from torchperf_lint.rates import times_of
from torchperf_lint.run_report import RunReport

_DIGITS = pattern(r"\d+")


@dataclass(frozen=True)
class Compared:
    """The step's time, a diagnosis or a finding in both runs; a figure is None where it was not measured."""

    change: Change
    reason: str
    before_ms: float | None = None
    """Milliseconds a step."""
    after_ms: float | None = None
    before: Diagnosis | Finding | None = None
    after: Diagnosis | Finding | None = None


@dataclass(frozen=True)
class Comparison:
    """Everything about two runs."""

    before: RunReport
    after: RunReport
    threshold_ms: float | None
    """Changes of a step's time up to this are none; None where times cannot be compared."""
    step: Compared
    diagnoses: tuple[Compared, ...]
    findings: tuple[Compared, ...]
    notes: tuple[str, ...] = ()
    """What else differs between the runs."""


def compare(before: RunReport, after: RunReport) -> Comparison:
    """What a change between two recorded runs did."""
    why_not = incomparable(before.run, after.run)
    threshold = None
    if why_not is None and before.run.step_ms is not None and after.run.step_ms is not None:
        threshold = threshold_of(before.run.step_ms, after.run.step_ms)
    scale = Scale(threshold, why_not or "")
    return Comparison(
        before,
        after,
        threshold,
        _step(before.run, after.run, scale),
        tuple(_diagnoses(before, after, scale)),
        tuple(_findings(before, after, scale)),
        tuple(_notes(before, after)),
    )


def _step(before: Evidence, after: Evidence, scale: Scale) -> Compared:
    if scale.threshold_ms is None or before.step_ms is None or after.step_ms is None:
        return Compared(Change.UNKNOWN, scale.why_not)
    one, other = before.step_ms.median, after.step_ms.median
    change, said = scale.of(one, other)
    if change is not Change.SAME:
        less = "less" if other < one else "more"
        said = f"{ms(abs(one - other))} {less} ({percent(abs(one - other) / one)}), spread {ms(scale.threshold_ms)}"
    return Compared(change, said, one, other)


def _diagnoses(before: RunReport, after: RunReport, scale: Scale) -> Iterator[Compared]:
    """By code; of several of a code, in their order of weight."""
    left = list(after.diagnoses)
    for one in before.diagnoses:
        other = next((diagnosis for diagnosis in left if diagnosis.code == one.code), None)
        if other is None:
            yield Compared(Change.GONE, "only before", _cost(one, before.run), None, one, None)
            continue
        left.remove(other)
        costs = _cost(one, before.run), _cost(other, after.run)
        change, reason = scale.of(*costs)
        if None in costs and scale.threshold_ms is not None:
            change, reason = Change.SAME, "in both runs, without a share of the step"
        yield Compared(change, reason, *costs, one, other)
    for other in left:
        yield Compared(Change.NEW, "only after", None, _cost(other, after.run), None, other)


def _cost(diagnosis: Diagnosis, run: Evidence) -> float | None:
    share, loop = getattr(diagnosis, "share", None), loop_of(run)
    return share * loop.turn_ms if share is not None and loop is not None else None


def _findings(before: RunReport, after: RunReport, scale: Scale) -> Iterator[Compared]:
    pairs, gone, new = paired(before.report.findings, after.report.findings)
    for one, other in pairs:
        yield _finding(one, other, (before.run, after.run), scale)
    for one in gone:
        unseen = _unseen(one, after, "after")
        yield Compared(Change.UNKNOWN if unseen else Change.GONE, unseen or "only before", _price(one), None, one, None)
    for other in new:
        unseen = _unseen(other, before, "before")
        yield Compared(
            Change.UNKNOWN if unseen else Change.NEW, unseen or "only after", None, _price(other), None, other
        )


def paired(
    before: Sequence[Finding], after: Sequence[Finding]
) -> tuple[list[tuple[Finding, Finding]], list[Finding], list[Finding]]:
    """(in both, only before, only after). A finding is the same if it says the same in the same file.

    The line may have moved: of several alike, the nearest is the same.
    """
    alike: dict[tuple[object, ...], list[int]] = {}
    for n, other in enumerate(after):
        alike.setdefault(_key(other), []).append(n)
    candidates = [
        (abs(one.location.line - after[n].location.line), m, n)
        for m, one in enumerate(before)
        for n in alike.get(_key(one), ())
    ]
    taken: dict[int, int] = {}
    kept: set[int] = set()
    for _, m, n in sorted(candidates):
        if m not in taken and n not in kept:
            taken[m] = n
            kept.add(n)
    return (
        [(before[m], after[n]) for m, n in sorted(taken.items())],
        [one for m, one in enumerate(before) if m not in taken],
        [other for n, other in enumerate(after) if n not in kept],
    )


def _key(finding: Finding) -> tuple[object, ...]:
    return (finding.code, finding.location.path, finding.location.cell, _DIGITS.sub("", finding.message))


def _unseen(finding: Finding, other: RunReport, when: str) -> str | None:
    """Why the other run says nothing about the place of a finding."""
    path = finding.location.path
    if path in other.changed or any(problem.path == path for problem in other.report.problems):
        return f"{path} could not be judged {when}"
    return f"{path} did not run {when}" if other.run.sources and path not in other.run.sources else None


def _finding(one: Finding, other: Finding, runs: tuple[Evidence, Evidence], scale: Scale) -> Compared:
    prices = _price(one), _price(other)
    change, reason = _verdicts(one, other, runs, scale)
    return Compared(change, reason, *prices, one, other)


def _verdicts(one: Finding, other: Finding, runs: tuple[Evidence, Evidence], scale: Scale) -> tuple[Change, str]:
    before, after = _outcome(one.verdict), _outcome(other.verdict)
    said = f"{_said(before)} before, {_said(after)} after"
    if (before, after) == (Outcome.CONFIRMED, Outcome.REFUTED):
        return Change.BETTER, said
    if (before, after) == (Outcome.REFUTED, Outcome.CONFIRMED):
        return Change.WORSE, said
    if before is not after:
        return Change.UNKNOWN, said
    if before is not Outcome.CONFIRMED:
        return Change.SAME, f"{_said(before)} in both"
    if scale.threshold_ms is not None and _price(one) is not None and _price(other) is not None:
        return scale.of(_price(one), _price(other))
    return _counts(times_of(one, runs[0]), times_of(other, runs[1]))


def _counts(before: tuple[float, str] | None, after: tuple[float, str] | None) -> tuple[Change, str]:
    """Where no price tells: how often it happens, which a simulated device counts, too."""
    if before is None or after is None or before[1] != after[1]:
        return Change.SAME, "confirmed in both; neither price nor count to compare"
    said = f"{often(before[0])} a {before[1]}, then {often(after[0])}"
    if abs(before[0] - after[0]) <= EXACT * max(before[0], after[0]):
        return Change.SAME, said
    return (Change.BETTER if after[0] < before[0] else Change.WORSE), said


def _outcome(verdict: Verdict | None) -> Outcome | None:
    return verdict.outcome if verdict is not None else None


def _said(outcome: Outcome | None) -> str:
    return outcome.value.replace("-", " ") if outcome is not None else "not judged"


def _price(finding: Finding) -> float | None:
    return finding.verdict.blocked_ms_per_step if finding.verdict is not None else None


def _notes(before: RunReport, after: RunReport) -> Iterator[str]:
    for what, one, other in (
        ("script", before.script, after.script),
        ("torch", before.run.torch, after.run.torch),
        ("Python", before.run.python, after.run.python),
        ("host", before.run.platform, after.run.platform),
    ):
        if one != other:
            yield f"other {what}: {one or 'not recorded'} before, {other or 'not recorded'} after"
    for report, when in ((before, "before"), (after, "after")):
        if report.run.returncode:
            yield f"the run {when} ended with exit code {report.run.returncode}"
        if report.run.torn:
            yield f"the record of the run {when} ends in the middle of a line"
    if before.run.sources and after.run.sources and not before.run.sources.keys() & after.run.sources.keys():
        yield "no file is in both runs: were they started in the same directory?"
