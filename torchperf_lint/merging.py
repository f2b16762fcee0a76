"""Findings of one file that share a root cause become one, with their fixes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchperf_lint.model import Edit, Finding, Fix, Related


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding a root cause, at the line to change first; the other places become `related`.

    A finding that covers other root causes takes theirs with it, whether or not there is one.
    """
    alone: list[Finding] = []
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: f.sort_key):
        if finding.root_cause is None:
            alone.append(finding)
        else:
            groups.setdefault(finding.root_cause, []).append(finding)
    for finding in [f for group in groups.values() for f in group if f.covers]:
        for cause in finding.covers:
            groups[finding.root_cause or ""] += groups.pop(cause, [])
    return sorted([*alone, *map(_one, groups.values())], key=lambda f: f.sort_key)


def led_by(first: Finding, whole: Finding) -> Finding:
    """A merged finding, told at another of those that became it."""
    return replace(_joined([first, *(one for one in whole.merged if one is not first)]), fix=whole.fix)


def _one(group: list[Finding]) -> Finding:
    group.sort(key=lambda f: (not f.leads, f.sort_key))
    return _joined(group)


def _joined(group: list[Finding]) -> Finding:
    """The first, which has the others' places."""
    first, *others = group
    related = {*first.related}
    for other in others:
        related.add(Related(other.location, other.message, same=other.code == first.code))
        related.update(other.related)
    # The last of one place is kept: what was found there rather than what only explains another.
    by_weight = sorted(sorted(related, reverse=True), key=lambda one: one.same)
    places = {(r.location.path, r.location.line, r.location.column): r for r in by_weight}
    places.pop((first.location.path, first.location.line, first.location.column), None)
    return replace(
        first,
        related=tuple(sorted(places.values())),
        happens=tuple(dict.fromkeys(place for finding in group for place in finding.happens)),
        fix=_together([f.fix for f in group if f.fix]),
        merged=tuple(replace(finding, fix=None) for finding in group) if others else (),
    )


def _together(fixes: list[Fix]) -> Fix | None:
    """The fixes of merged findings as one: the safest of them, as many as can be made at once, the leader's first.

    What is left out is found, and fixed, when the file is linted again.
    """
    if not fixes:
        return None
    safety = min((fix.safety for fix in fixes), key=lambda word: word.rank)
    taken: list[Edit] = []
    for fix in fixes:
        edits = [edit for edit in fix.edits if edit not in taken]
        if fix.safety is safety and not any(edit.touches(other) for edit in edits for other in taken):
            taken += edits
    return Fix(safety, tuple(sorted(taken, key=lambda edit: (edit.start, edit.end, edit.text))))
