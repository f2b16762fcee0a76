"""Findings of one file that share a root cause become one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from torchperf_lint.model import Finding, Related


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding a root cause, at the line to change first; the other places become `related`."""
    alone: list[Finding] = []
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=lambda f: f.sort_key):
        if finding.root_cause is None:
            alone.append(finding)
        else:
            groups.setdefault(finding.root_cause, []).append(finding)
    return sorted([*alone, *map(_one, groups.values())], key=lambda f: f.sort_key)


def _one(group: list[Finding]) -> Finding:
    group.sort(key=lambda f: (not f.leads, f.sort_key))
    first, *others = group
    related = {*first.related}
    for other in others:
        related.add(Related(other.location, other.message))
        related.update(other.related)
    places = {(r.location.path, r.location.line, r.location.column): r for r in sorted(related, reverse=True)}
    places.pop((first.location.path, first.location.line, first.location.column), None)
    return replace(first, related=tuple(sorted(places.values())))
