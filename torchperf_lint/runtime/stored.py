"""Findings in the events file, so that a record can be judged again where its sources are not at hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, replace
from typing import Any

from torchperf_lint.model import Confidence, Finding, Location, Related, Severity

_PLAIN = ("code", "name", "message", "why_tensor", "why_hot", "instead", "url")


def stored(finding: Finding) -> dict[str, Any]:
    """What JSON can hold of a finding; its verdict is left out, for that is made from the record."""
    kept = asdict(replace(finding, verdict=None, fix=None, merged=()))
    kept["merged"] = [stored(one) for one in finding.merged]
    return {name: value for name, value in kept.items() if value is not None}


def restored(kept: dict[str, Any]) -> Finding:
    """The finding that `stored` was given. Raises KeyError and TypeError for what it did not write."""
    plain: dict[str, Any] = {name: kept.get(name) for name in _PLAIN}
    return Finding(
        **plain,
        location=_location(kept["location"]),
        severity=Severity(kept["severity"]),
        confidence=Confidence(kept["confidence"]),
        related=_places(kept.get("related", ())),
        callers=_places(kept.get("callers", ())),
        root_cause=kept.get("root_cause"),
        leads=kept.get("leads", True),
        covers=tuple(kept.get("covers", ())),
        loop=_location(kept["loop"]) if "loop" in kept else None,
        happens=tuple(map(_location, kept.get("happens", ()))),
        merged=tuple(map(restored, kept.get("merged", ()))),
    )


def _places(kept: Iterable[dict[str, Any]]) -> tuple[Related, ...]:
    return tuple(Related(_location(r["location"]), r["message"], r.get("same", False)) for r in kept)


def _location(kept: dict[str, Any]) -> Location:
    return Location(**kept)
