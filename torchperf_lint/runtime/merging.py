"""Ranks of one run -> one Evidence: by site, and by which rank the others wait for. Torch-free."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Event, Spread
from torchperf_lint.stragglers import straggler
from torchperf_lint.window import KERNELS


def merged(singles: Sequence[Evidence]) -> Evidence:
    """Ranks of one run: an event's figures are those of the rank with the most, times those of the slowest rank.

    Where the time goes is told of the rank that the others wait for, else of the one that waits longest for data.
    """
    slowest = max(singles, key=lambda e: (e.step_ms.median if e.step_ms else 0.0, -singles.index(e)))
    waiting = _late(singles, slowest.step_ms) or max(singles, key=_waits_for_data)
    windowed = next((e for e in singles if KERNELS in e.state), singles[0])
    lines: dict[str, dict[int, int]] = {}
    for single in singles:
        for path, ran in single.lines.items():
            known = lines.setdefault(path, {})
            for line, times in ran.items():
                known[line] = max(times, known.get(line, 0))
    return replace(
        singles[0],
        events=tuple(_merged_events(singles)),
        steps=max(e.steps for e in singles),
        train_batches=max(e.train_batches for e in singles),
        backwards=max(e.backwards for e in singles),
        eval_batches=max(e.eval_batches for e in singles),
        eval_calls=max(e.eval_calls for e in singles),
        requests=max((e.requests for e in singles if e.requests), key=lambda r: r.calls, default=None),
        step_ms=slowest.step_ms,
        left_out=waiting.left_out,
        slowed=waiting.slowed,
        state=windowed.state if KERNELS not in singles[0].state else singles[0].state,
        window=windowed.window,
        segments=waiting.segments,
        eval_segments=waiting.eval_segments,
        outside_segments=waiting.outside_segments,
        loaders=waiting.loaders,
        lines=lines,
        complete=frozenset.intersection(*(e.complete for e in singles)),
        device=next((e.device for e in singles if e.device), None),
        unwatched={name: why for e in reversed(singles) for name, why in e.unwatched.items()},
        sources={path: digest for e in reversed(singles) for path, digest in e.sources.items()},
        ranks=tuple(rank for e in singles for rank in e.ranks),
        samples=tuple(sample for e in singles for sample in e.samples),
    )


def _late(singles: Sequence[Evidence], step_ms: Spread | None) -> Evidence | None:
    ranks = [single.ranks[0] for single in singles]
    late = straggler(ranks, step_ms)
    return singles[ranks.index(late.rank)] if late is not None else None


def _waits_for_data(single: Evidence) -> float:
    return sum(segment.ms for segment in single.segments if segment.phase == "data")


def _merged_events(singles: Sequence[Evidence]) -> Iterable[Event]:
    keyed = sorted(
        ((_event_key(event), rank, event) for rank, single in enumerate(singles) for event in single.events),
        key=lambda entry: entry[:2],
    )
    for _, group in groupby(keyed, key=lambda entry: entry[0]):
        entries = list(group)
        counts = [0] * len(singles)
        for _, rank, event in entries:
            counts[rank] += event.count
        most = max(entries, key=lambda entry: (entry[2].blocked_ms or 0.0, entry[2].count))[2]
        yield replace(most, by_rank=tuple(counts))


def _event_key(event: Event) -> tuple[Any, ...]:
    attributes = tuple(sorted((k, str(v)) for k, v in event.attributes.items()))
    origin = str(event.origin or "")
    return (event.path, event.line, event.column or 0, event.kind, event.what, event.via or ("", 0), attributes, origin)
