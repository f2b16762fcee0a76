"""Findings x evidence -> verdicts. A finding never changes; it gains what the run says about it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from torchperf_lint import catalog
from torchperf_lint.amounts import often
from torchperf_lint.confirming import ENDED_EARLY
from torchperf_lint.evidence import Evidence
from torchperf_lint.merging import led_by
from torchperf_lint.model import Finding, Outcome, Verdict
from torchperf_lint.rates import STEP, rate_of
from torchperf_lint.recorded import Event
from torchperf_lint.rule import SourceRule
from torchperf_lint.waits import OF_INDEX

logger = logging.getLogger(__name__)
NEGLIGIBLE = 0.01
"""Below this share of the step a confirmed finding is not worth a change."""
_TRAINING = "training step"


def judged(findings: Iterable[Finding], run: Evidence, changed: Iterable[str] = ()) -> tuple[Finding, ...]:
    """The findings, each with a verdict. `changed`: files that are no longer what ran; their lines mean nothing."""
    rules = _rules()
    gone = frozenset(changed)
    return tuple(_judged(finding, rules.get(finding.code), run, gone) for finding in findings)


def _judged(finding: Finding, rule: SourceRule | None, run: Evidence, changed: frozenset[str]) -> Finding:
    verdict = _verdict(finding, rule, run, changed)
    if verdict.outcome is Outcome.CONFIRMED and finding.merged:
        first = _seen_alone(finding, rule, run, changed)
        if first is not finding.merged[0]:
            finding = led_by(first, finding)
            verdict = _verdict(finding, rule, run, changed)
    if rule is not None and rule.of_gradients and verdict.outcome is Outcome.CONFIRMED:
        verdict = _with_gradients(verdict, finding, rule, run)
    return replace(finding, verdict=verdict)


def _with_gradients(verdict: Verdict, finding: Finding, rule: SourceRule, run: Evidence) -> Verdict:
    """A finding that is confirmed, with what its gradients wait for or copy: they do so because of the same line."""
    again = [event for event in run.in_gradients(finding, "sync", "copy") if rule.explains(event)]
    rate = rate_of(again, run, verdict.times_per or STEP)
    if rate is None:
        return verdict
    does = "waits" if any(event.kind == "sync" for event in again) else "copies"
    does = "copies the index" if any(event.attributes.get(OF_INDEX) for event in again) else does
    unit = f"{'an' if rate[1][0] in 'aeiou' else 'a'} {rate[1]}"
    times = verdict.times + rate[0] if verdict.times is not None and rate[1] == verdict.times_per else verdict.times
    return replace(verdict, reason=f"{verdict.reason}; its gradient {does} again, {often(rate[0])} {unit}", times=times)


def _seen_alone(finding: Finding, rule: SourceRule | None, run: Evidence, changed: frozenset[str]) -> Finding:
    """Of those that were merged, the first that what happens at its own place confirms; else the one that leads.

    Lines with one cause need not all run: the advice is that of a line that does.
    """
    first = finding.merged[0]
    for one in finding.merged:
        alike = one.code == first.code and one.leads == first.leads
        if alike and _verdict(one, rule, run, changed).outcome is Outcome.CONFIRMED:
            return one
    return first


def _rules() -> dict[str, SourceRule]:
    return {rule.code: rule() for rule in catalog.rule_classes() if issubclass(rule, SourceRule)}


def _verdict(finding: Finding, rule: SourceRule | None, run: Evidence, changed: frozenset[str]) -> Verdict:
    if finding.location.path in changed:
        return Verdict(Outcome.UNOBSERVABLE, "the file has changed since it ran")
    if finding.location.cell is not None:
        return Verdict(Outcome.UNOBSERVABLE, "a notebook's cell did not run")
    if rule is None:
        return Verdict(Outcome.UNOBSERVABLE, f"this version has no rule {finding.code}")
    blind = next((f"{name}: {run.unwatched[name]}" for name in rule.probes if name in run.unwatched), None)
    if "torch" in run.unwatched:
        return Verdict(Outcome.UNOBSERVABLE, run.unwatched["torch"])
    try:
        verdict = rule.confirm(finding, run)
    except Exception as error:
        logger.debug("%s could not judge", finding.code, exc_info=True)
        return Verdict(Outcome.UNOBSERVABLE, f"{finding.code} could not judge: {type(error).__name__}: {error}")
    if verdict.outcome is not Outcome.REFUTED:
        return verdict
    silent = blind or _cannot_refute(finding, run)
    return verdict if silent is None else Verdict(Outcome.UNOBSERVABLE, silent)


def _cannot_refute(finding: Finding, run: Evidence) -> str | None:
    """Why a run without a training step does not: it fell short of one, or does something else (a decoder)."""
    if run.steps or run.backwards:
        return None
    if run.fell_short and not run.eval_total:
        return ENDED_EARLY
    of_training = any(_TRAINING in (said or "") for said in (finding.message, finding.why_hot))
    return "the run trained nothing, and the finding is about training steps" if of_training else None


def changed_sources(run: Evidence, root: Path) -> tuple[str, ...]:
    """Files whose text on disk is not what ran; paths as in the record, relative ones from `root`."""
    return tuple(sorted(path for path, digest in run.sources.items() if digest_of(root / path) != digest))


def digest_of(path: Path) -> str | None:
    """SHA-256 of a file, hexadecimal; None where it cannot be read."""
    import hashlib  # brings OpenSSL with it, for nothing where no run is judged

    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def unfound(findings: Sequence[Finding], run: Evidence, kinds: Sequence[str]) -> tuple[Event, ...]:
    """Events of these kinds within the loops, at places where no finding stands, the costliest first.

    That is how a reader, and we, learn what static analysis misses. What happens outside every loop (moving the
    model, the last checkpoint) is left out.
    """
    told, doubted = named(findings, run, kinds), _at_refuted(findings, run)
    hot = [e for e in run.events if e.kind in kinds and e.path and e.train_turns + e.eval_turns]
    hot = [event for event in hot if id(event) in doubted or not _well_done(event)]
    missed = [event for event in hot if id(event) not in told]
    return tuple(
        sorted(missed, key=lambda e: (-(e.bubble_ms or 0.0), -(e.blocked_ms or 0.0), -e.count, e.path, e.line, e.what))
    )


def named(findings: Sequence[Finding], run: Evidence, kinds: Sequence[str]) -> frozenset[int]:
    """Events of these kinds (by `id`) that a finding's rule could be about: at its places, in its loop, or elsewhere.

    A finding says nothing of what else happens at its line: who evaluates with gradients may upload there as well.
    """
    rules = _rules()
    told: set[int] = set()
    for finding in findings:
        rule = rules.get(finding.code)
        places = (finding.location, *finding.happens, *(related.location for related in finding.related))
        here = [event for place in places for event in run.at(place, *kinds) if rule is None or rule.explains(event)]
        if _is_refuted(finding):  # what comes every step is nothing that it speaks of
            here = [event for event in here if not run.every_step([event])]
        loop = run.at(finding.loop, *kinds) if finding.loop is not None and _speaks_of_loop(finding, rule) else ()
        elsewhere = _elsewhere(finding, rule, run, kinds) if rule is not None else ()
        told.update(id(event) for event in (*here, *loop, *elsewhere))
    return frozenset(told)


def _elsewhere(finding: Finding, rule: SourceRule, run: Evidence, kinds: Sequence[str]) -> Iterator[Event]:
    """What a finding is about at other lines than its own: in the gradients of what these compute, or anywhere."""
    yield from rule.explained_elsewhere(run)
    if rule.of_gradients and not _is_refuted(finding):
        yield from (event for event in run.in_gradients(finding, *kinds) if rule.explains(event))


def _at_refuted(findings: Iterable[Finding], run: Evidence) -> frozenset[int]:
    """Copies (by `id`) at a place that was found for its waits and has none, and in its gradient.

    Who reads that nothing happens there wants to know what does: a mask of the host is copied, though without a wait.
    """
    rules, told = _rules(), set[int]()
    for finding in filter(_is_refuted, findings):
        rule = rules.get(finding.code)
        if rule is not None and rule.probes and "transfers" not in rule.probes:
            events = (*run.at(finding, "copy"), *(run.in_gradients(finding, "copy") if rule.of_gradients else ()))
            told.update(id(event) for event in events)
    return frozenset(told)


def _is_refuted(finding: Finding) -> bool:
    return finding.verdict is not None and finding.verdict.outcome is Outcome.REFUTED


def _speaks_of_loop(finding: Finding, rule: SourceRule | None) -> bool:
    """Whether the finding's verdict tells what the turns wait for; one about kernels may have left that open."""
    verdict = finding.verdict
    return verdict is None or verdict.outcome is Outcome.CONFIRMED or rule is None or not rule.about_waits


def _well_done(event: Event) -> bool:
    """A copy from pinned memory that the host does not wait for is how it should be."""
    return event.kind == "copy" and event.attributes.get("pinned") is True and not event.attributes.get("blocking")
