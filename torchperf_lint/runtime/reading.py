"""Events files -> Evidence. Several files are the ranks of one run, merged by site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import exp
from typing import Any

from torchperf_lint.events import RawRun, Record
from torchperf_lint.evidence import Event, Evidence, LoaderRun, Moment, Rank, Requests, Segment, Spread
from torchperf_lint.runtime.same_run import missing, place
from torchperf_lint.spans import sample_of
from torchperf_lint.stragglers import straggler
from torchperf_lint.window import KERNELS, bubbles_by_site, copies_by_site, window_of

_SIMULATED = "simulated"
_INSTALLED = ("site-packages", "dist-packages")
_LOADER_SETTINGS = (
    "class",
    "dataset",
    "samples",
    "num_workers",
    "batch_size",
    "pin_memory",
    "prefetch_factor",
    "persistent_workers",
    "start_method",
)


def evidence_of(runs: Sequence[RawRun]) -> Evidence:
    """What these files show together; the first is the one whose argv, state and utilisation stand for all.

    Processes that trained count as ranks; the others (a launcher, a helper) only where nothing trained.
    """
    trained = [run for run in runs if run.steps.get("steps")] or list(runs)
    singles = [_single(run) for run in sorted(trained, key=_rank_order)]
    merged = _merged(singles) if len(singles) > 1 else singles[0]
    owner = runs[0]
    return replace(
        merged,
        utilisation=owner.utilisation,
        missing_ranks=missing(runs),
        returncode=owner.ended.get("returncode") if owner.ended else None,
        wall_s=owner.ended.get("wall_s") if owner.ended else None,
        argv=tuple(owner.header.get("argv", ())),
        platform=owner.header.get("platform"),
        python=owner.header.get("python"),
        torn=any(run.torn for run in runs),
    )


def _rank_order(run: RawRun) -> tuple[int, int]:
    rank, _ = place(run)
    return (rank if rank is not None else 0, run.header.get("pid", 0))


def _single(run: RawRun) -> Evidence:
    steps, sites = run.steps, run.sites
    simulated = bool(run.header.get("simulated")) and _state_of(run, _SIMULATED) == "watching"
    return Evidence(
        events=tuple(_events(run)),
        steps=steps.get("steps", 0),
        warmup=steps.get("warmup", run.header.get("settings", {}).get("warmup", 0)),
        left_out=steps.get("left_out", 0),
        train_batches=steps.get("train_batches", 0),
        eval_batches=steps.get("eval_batches", 0),
        requests=_requests(run),
        step_ms=spread(steps.get("histogram", ()), steps.get("bucket", 1.0)),
        segments=tuple(_segments(run.time.get("train", ()), sites)),
        eval_segments=tuple(_segments(run.time.get("eval", ()), sites)),
        loaders=tuple(_loader(record, sites) for _, record in sorted(run.loaders.items()) if "class" in record),
        lines={path: known["ran"] for path, known in run.lines.items()},
        complete=frozenset(path for path, known in run.lines.items() if known["complete"]),
        device=_SIMULATED if simulated else _device(run),
        simulated=simulated,
        in_process=bool(run.header.get("in_process")),
        torch=run.state.get("torch"),
        unwatched=_unwatched(run),
        state=run.state,
        sources=run.sources,
        window=window_of(run.window),
        ranks=(_rank(run),),
        course=tuple(_course(run)),
        samples=tuple(sample for sample in [sample_of(run)] if sample is not None),
        torn=run.torn,
    )


def _course(run: RawRun) -> Iterable[Moment]:
    batches = {number: record.get("batches", 0) for number, record in run.loaders.items()}
    main = max(batches, key=lambda number: batches[number], default=None)
    for row in run.course:
        yield Moment(row["at"], row["steps"], row["batches"], row["syncs"], row["passes"].get(main, 0))


def _state_of(run: RawRun, probe: str) -> str | None:
    state = run.probes.get(probe, {}).get("state")
    return str(state) if state is not None else None


def _unwatched(run: RawRun) -> dict[str, str]:
    unwatched = {
        name: str(record.get("reason") or record["state"])
        for name, record in run.probes.items()
        if record["state"] != "watching"
    }
    if run.state.get("torch") is None:
        unwatched["torch"] = "the script did not import torch"
    return unwatched


def _device(run: RawRun) -> str | None:
    gpus = run.state.get("gpus") or []
    return str(gpus[0]["name"]) if gpus else None


def _events(run: RawRun) -> Iterable[Event]:
    bubbles, copied = bubbles_by_site(run.window), copies_by_site(run.window)
    at_site: dict[int, float] = {}
    for (number, _), ms in bubbles.items():
        at_site[number] = at_site.get(number, 0.0) + ms
    for number, definition in sorted(run.events.items()):
        count = run.counts.get(number)
        site = run.sites.get(definition.get("site") or 0)
        if count is None:
            continue
        via = site.get("via") if site else None
        here = definition.get("site") or 0
        bubble = bubbles.get((here, definition["what"])) if definition["kind"] == "sync" else None
        copy_ms = None
        if definition["kind"] == "copy":
            # What the window saw of a line is told once, whatever else differs between the copies there.
            copy_ms = copied.pop((here, definition["what"]), None)
            bubble = at_site.pop(here, None) if definition.get("blocking") else None
        yield Event(
            kind=definition["kind"],
            what=definition["what"],
            path=site["path"] if site else "",
            line=site["line"] if site else 0,
            count=count["n"],
            column=site.get("column") if site else None,
            end_line=site.get("end_line") if site else None,
            end_column=site.get("end_column") if site else None,
            function=site.get("function", "") if site else "",
            via=(via[0], via[1]) if via else None,
            steady=count["steady"],
            train_turns=count["train_turns"],
            eval_turns=count["eval_turns"],
            blocked_ms=count["steady_ms"],
            bubble_ms=bubble,
            copy_ms=copy_ms,
            nbytes=count["bytes"],
            attributes={k: v for k, v in definition.items() if k not in ("record", "id", "kind", "what", "site")},
        )


def _segments(rows: Iterable[Sequence[Any]], sites: Mapping[int, Record]) -> Iterable[Segment]:
    for phase, start, end, ms, times in rows:
        ends = sites.get(end)
        yield Segment(phase, _place(sites.get(start)), _place(ends), ms, times, _package(ends))


def _package(site: Record | None) -> str | None:
    """The top-level name of the installed package a mark stands in, where the project's line only led there."""
    if site is None or not site.get("via"):
        return None
    parts = str(site["path"]).split("/")
    last = max((at for at, part in enumerate(parts) if part in _INSTALLED), default=None)
    return parts[last + 1] if last is not None and last + 1 < len(parts) else None


def _place(site: Record | None) -> tuple[str, int] | None:
    """The project's line where a mark was set: for places in packages, the line that led there."""
    if site is None:
        return None
    via = site.get("via")
    return (via[0], via[1]) if via else (site["path"], site["line"])


def _requests(run: RawRun) -> Requests | None:
    """Blocks without gradients are the requests where some came after the warm-up; else each call is one."""
    record, steps = run.requests, run.steps
    if record is None or any(steps.get(name) for name in ("steps", "backwards", "train_batches", "eval_batches")):
        return None
    requests, calls, bucket = record["requests"], record["calls"], record["bucket"]
    by_block = requests["steady"] or (requests["n"] and not calls["steady"])
    unit, chosen = ("request", requests) if by_block else ("call", calls)
    return Requests(
        unit=unit,
        count=chosen["n"],
        calls=calls["n"],
        steady=chosen["steady"],
        total_ms=chosen["ms"],
        in_calls_ms=chosen["in_calls_ms"],
        waiting_ms=chosen["waiting_ms"],
        idle_ms=chosen["idle_ms"],
        most=chosen["most"],
        ms=spread(chosen["histogram"], bucket),
        between_ms=spread(chosen["between"], bucket),
        place=next((_place(run.sites.get(site)) for site, _ in record["places"]), None),
    )


def _loader(record: Record, sites: Mapping[int, Record]) -> LoaderRun:
    place = _place(sites.get(record.get("site") or 0))
    return LoaderRun(
        path=place[0] if place else None,
        line=place[1] if place else None,
        settings={name: record.get(name) for name in _LOADER_SETTINGS},
        batches=int(record["batches"]),
        epochs=int(record["epochs"]),
        steady_batches=int(record["steady_batches"]),
        steady_wait_ms=record["steady_wait_ms"],
        first_wait_ms=record["first_wait_ms"],
        start_ms=record["start_ms"],
        wait_ms=record["wait_ms"],
        cpu_ms=record["cpu_ms"],
        background=record["background"],
        worker=record.get("worker"),
        read_bytes=record.get("read_bytes"),
        queued_ms=record.get("queued_ms"),
        queued_of_ms=record.get("queued_of_ms", 0.0),
    )


def _rank(run: RawRun) -> Rank:
    group = run.state.get("distributed") or {}
    bucket = run.steps.get("bucket", 1.0)
    return Rank(
        rank=place(run)[0],
        pid=run.header.get("pid", 0),
        steps=run.steps.get("steps", 0),
        step_ms=spread(run.steps.get("histogram", ()), bucket),
        wait_ms=sum(loader.get("steady_wait_ms", 0.0) for loader in run.loaders.values()),
        alone_ms=_medians(run.steps.get("phases", {}), bucket),
        group=group.get("world"),
        together_ms=_medians(run.steps.get("together", {}), bucket),
        single_steps=run.pace,
        host=run.header.get("host"),
        ended=run.ended is not None,
        returncode=run.ended.get("returncode") if run.ended else None,
    )


def _medians(histograms: Mapping[str, Iterable[Sequence[int]]], bucket: float) -> dict[str, float]:
    found = {phase: spread(kept, bucket) for phase, kept in histograms.items()}
    return {phase: _or_none_at_all(times.median) for phase, times in found.items() if times is not None}


def _or_none_at_all(ms: float) -> float:
    """A phase that did not occur is kept in the lowest bucket there is: the logarithm of 0 has none."""
    return ms if ms > 1e-5 else 0.0


def spread(histogram: Iterable[Sequence[int]], bucket: float) -> Spread | None:
    """Median, 95th percentile and quartiles of a histogram of (logarithmic bucket, count), in ms; None if empty."""
    rows = sorted((int(index), int(count)) for index, count in histogram)
    total = sum(count for _, count in rows)
    if not total:
        return None
    median, p95, lower, upper = (_quantile(rows, total, share, bucket) for share in (0.5, 0.95, 0.25, 0.75))
    return Spread(median, p95, total, lower, upper)


def _quantile(rows: Sequence[tuple[int, int]], total: int, share: float, bucket: float) -> float:
    passed = 0
    for index, count in rows:
        passed += count
        if passed >= share * total:
            return exp((index + 0.5) * bucket)
    return exp((rows[-1][0] + 0.5) * bucket)


def _merged(singles: Sequence[Evidence]) -> Evidence:
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
        eval_batches=max(e.eval_batches for e in singles),
        requests=max((e.requests for e in singles if e.requests), key=lambda r: r.calls, default=None),
        step_ms=slowest.step_ms,
        left_out=waiting.left_out,
        state=windowed.state if KERNELS not in singles[0].state else singles[0].state,
        window=windowed.window,
        segments=waiting.segments,
        eval_segments=waiting.eval_segments,
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
    return (event.path, event.line, event.column or 0, event.kind, event.what, event.via or ("", 0), attributes)
