"""Events files -> Evidence. Several files are the ranks of one run, merged by site."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from torchperf_lint.answering import BetweenCalls, Stretch
from torchperf_lint.events import RawRun, Record
from torchperf_lint.evidence import HOT_SHARE, OFTEN_ENOUGH, Evidence
from torchperf_lint.recorded import Begun, Event, LoaderRun, Moment, Origin, Rank, Requests, Segment, Spread
from torchperf_lint.runtime.histograms import quantile, times, without
from torchperf_lint.runtime.merging import merged
from torchperf_lint.runtime.same_run import missing
from torchperf_lint.runtime.sites import installed_package
from torchperf_lint.spans import place_of, sample_of
from torchperf_lint.waits import FORWARD
from torchperf_lint.window import bubbles_by_site, copies_by_site, window_of

_SIMULATED = "simulated"
_FEWEST_BEFORE, _FEWEST_AFTER = 4, 20
"""Steps before and after a profiler's window of which a median is one; a window opens soon after the warm-up."""
_NO_ATTRIBUTES = ("record", "id", "kind", "what", "site", FORWARD)
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
    "items",
    "collate",
)


def evidence_of(runs: Sequence[RawRun]) -> Evidence:
    """What these files show together; the first is the one whose argv, state and utilisation stand for all.

    Processes that trained count as ranks; the others (a launcher, a helper) only where nothing trained.
    """
    singles = [_single(run) for run in sorted(_trained(runs), key=_rank_order)]
    whole = merged(singles) if len(singles) > 1 else singles[0]
    owner = runs[0]
    return replace(
        whole,
        utilisation=owner.utilisation,
        missing_ranks=missing(runs),
        returncode=owner.ended.get("returncode") if owner.ended else None,
        wall_s=owner.ended.get("wall_s") if owner.ended else None,
        started=owner.header.get("started"),
        argv=tuple(owner.header.get("argv", ())),
        platform=owner.header.get("platform"),
        python=owner.header.get("python"),
        torn=any(run.torn for run in runs),
    )


def _trained(runs: Sequence[RawRun]) -> list[RawRun]:
    """Those that stepped; else, as where one fails before its first step, that went backward or are known as ranks."""
    stepped = [run for run in runs if run.steps.get("steps")]
    began = [run for run in runs if run.steps.get("backwards")]
    ranked = [run for run in runs if run in began or run.place[0] is not None]
    return stepped or (ranked if began else list(runs))


def _rank_order(run: RawRun) -> tuple[int, int]:
    return run.place[0] or 0, run.header.get("pid", 0)


def _single(run: RawRun) -> Evidence:
    steps = run.steps
    simulated = bool(run.header.get("simulated")) and _state_of(run, _SIMULATED) == "watching"
    return Evidence(
        events=tuple(_events(run)),
        steps=steps.get("steps", 0),
        optimizer_calls=tuple(steps.get("optimizer_calls", ())),
        warmup=steps.get("warmup", run.header.get("settings", {}).get("warmup", 0)),
        left_out=steps.get("left_out", 0),
        slowed=_slowed(steps),
        train_batches=steps.get("train_batches", 0),
        backwards=steps.get("backwards", 0),
        eval_batches=steps.get("eval_batches", 0),
        eval_calls=steps.get("eval_calls", 0),
        acts=bool(steps.get("acts")),
        requests=_requests(run),
        step_ms=spread(steps.get("histogram", ()), steps.get("bucket", 1.0)),
        segments=tuple(_segments(run, "train")),
        eval_segments=tuple(_segments(run, "eval")),
        outside_segments=tuple(_segments(run, "outside")),
        loaders=tuple(_loader(run, record) for _, record in sorted(run.loaders.items()) if "class" in record),
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


def _slowed(steps: Record) -> float | None:
    width = steps.get("bucket", 1.0)
    before = times(steps.get("undisturbed", ()))
    after = without(steps.get("histogram", ()), before)
    counts = [sum(count for _, count in rows) for rows in (before, after)]
    if counts[0] < _FEWEST_BEFORE or counts[1] < _FEWEST_AFTER:
        return None
    return quantile(after, 0.5, width) / quantile(before, 0.5, width)


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
    steps = run.steps.get("steps", 0)
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
            train_steps=_at_most(_in_steps(count, run.steps), steps),
            own_loops=_own_loops(count, run.steps),
            eval_of=count.get("eval_of"),
            trained=count.get("trained"),
            evaluated=count.get("evaluated"),
            before=count.get("before", 0),
            over_steps=_over(count["first"], count["last"], steps),
            first_step=count["first"],
            blocked_ms=count["steady_ms"],
            total_ms=count["ms"] if definition["kind"] == "compile" else None,
            bubble_ms=bubble,
            copy_ms=copy_ms,
            nbytes=count["bytes"],
            attributes={name: value for name, value in definition.items() if name not in _NO_ATTRIBUTES},
            origin=_origin(run, definition.get(FORWARD)),
        )


def _origin(run: RawRun, number: int | None) -> Origin | None:
    site = run.sites.get(number or 0)
    if site is None:
        return None
    columns = (site.get("column"), site.get("end_line"), site.get("end_column"))
    via = site.get("via")
    return Origin(site["path"], site["line"], *columns, via=(via[0], via[1]) if via else None)


def _in_steps(count: Record, steps: Record) -> int | None:
    """In how many it came: where each batch is one, what is done to a batch that is fetched ahead is in as many."""
    in_steps, turns = count.get("train_steps"), count["train_turns"]
    one_each = steps.get("steps") == steps.get("train_batches") and turns <= steps.get("steps", 0)
    return max(in_steps, turns) if in_steps and one_each else in_steps


def _own_loops(count: Record, steps: Record) -> tuple[int, int] | None:
    """In how many steps of the optimizers that have loops of their own, of how many, where it comes in most of these.

    An optimizer that steps now and then between the steps of another has no loop.
    """
    closed, came = steps.get("closed_by", ()), count.get("closed_by", ())
    known = [(number, *closed[which]) for which, number in came if which < len(closed)]
    own = [(part, of) for part, of, rows in known if of >= OFTEN_ENOUGH * rows and part >= HOT_SHARE * of]
    part, of = sum(part for part, _ in own), sum(of for _, of in own)
    enough = len(closed) > 1 and part >= max(OFTEN_ENOUGH, HOT_SHARE * sum(number for _, number in came))
    return (part, of) if enough and count["train_turns"] else None


def _at_most(number: int | None, steps: int) -> int | None:
    """What follows the last step is counted as of one more, which there is not."""
    return min(number, steps) if number is not None and steps else number


def _over(first: int, last: int, steps: int) -> int:
    """Steps from the first to the last."""
    ends = min(last, max(steps, first)) if steps else last
    return ends - first + 1 if first else 0


def _segments(run: RawRun, which: str) -> Iterable[Segment]:
    for phase, start, end, ms, count in run.time.get(which, ()):
        yield Segment(phase, place_of(run, start), place_of(run, end), ms, count, _package(run.sites.get(end)))


def _package(site: Record | None) -> str | None:
    """The top-level name of the installed package a mark stands in, where the project's line only led there."""
    if site is None or not site.get("via"):
        return None
    return installed_package(str(site["path"]).split("/"))


def _requests(run: RawRun) -> Requests | None:
    """Blocks without gradients are the requests where some came after the warm-up; else each call is one.

    Where there was no such block at all, as in training that ends before its first backward pass, only calls are told;
    and none where it raised and has an optimizer: these were of its first step.
    """
    record, steps = run.requests, run.steps
    if record is None or any(steps.get(name) for name in ("steps", "backwards", "train_batches", "eval_batches")):
        return None
    requests, calls, bucket = record["requests"], record["calls"], record["bucket"]
    without_blocks = record.get("blocks") == 0  # records of before they were counted do not say
    by_block = not without_blocks and (requests["steady"] or (requests["n"] and not calls["steady"]))
    unit, chosen = ("request", requests) if by_block else ("call", calls)
    few = unit == "call" or not chosen["steady"]
    if few and run.state.get("optimizer_made") and run.state.get("raised"):
        return None
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
        place=next((place_of(run, site) for site, _ in record["places"]), None),
        at_place=next((times for _, times in record["places"]), None),
        between=_between_calls(run, record),
    )


def _between_calls(run: RawRun, record: Record) -> BetweenCalls | None:
    """None where CPU time was not counted, and in records of before it was."""
    between = record.get("between")
    if between is None:
        return None
    stretches = tuple(
        Stretch(place_of(run, start), place_of(run, end), ms, cpu_ms, times, _package(run.sites.get(end)))
        for start, end, ms, cpu_ms, times in between["rows"]
    )
    return BetweenCalls(stretches, record["calls"]["ms"] + between["within_ms"])


def _loader(run: RawRun, record: Record) -> LoaderRun:
    made = place_of(run, record.get("site"))
    return LoaderRun(
        path=made[0] if made else None,
        line=made[1] if made else None,
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
        collate_ms=record.get("collate_ms"),
        collated=record.get("collated"),
        items_at=place_of(run, record.get("items_site")),
        collate_at=place_of(run, record.get("collate_site")),
        cpu_of_ms=record.get("cpu_of_ms"),
        begun=_begun(run, record),
    )


def _begun(run: RawRun, record: Record) -> tuple[Begun, ...] | None:
    rows = record.get("begun")
    return tuple(Begun(place_of(run, site), passes, batches) for site, passes, batches in rows) if rows else None


def _rank(run: RawRun) -> Rank:
    group = run.state.get("distributed") or {}
    bucket = run.steps.get("bucket", 1.0)
    return Rank(
        rank=run.place[0],
        pid=run.header.get("pid", 0),
        steps=run.steps.get("steps", 0),
        step_ms=spread(run.steps.get("histogram", ()), bucket),
        wait_ms=sum(loader.get("steady_wait_ms", 0.0) for loader in run.loaders.values()),
        alone_ms=_medians(run.steps.get("phases", {}), bucket),
        group=group.get("world"),
        together_ms=_medians(run.steps.get("together", {}), bucket),
        single_steps=run.pace,
        host=run.header.get("host"),
        node=run.header.get("node"),
        ended=run.ended is not None,
        returncode=run.ended.get("returncode") if run.ended else None,
    )


def _medians(histograms: Mapping[str, Iterable[Sequence[int]]], bucket: float) -> dict[str, float]:
    found = {phase: spread(kept, bucket) for phase, kept in histograms.items()}
    return {phase: _or_none_at_all(known.median) for phase, known in found.items() if known is not None}


def _or_none_at_all(ms: float) -> float:
    """A phase that did not occur is kept in the lowest bucket there is: the logarithm of 0 has none."""
    return ms if ms > 1e-5 else 0.0


def spread(histogram: Iterable[Sequence[int]], bucket: float) -> Spread | None:
    """Median, 95th percentile and quartiles of a histogram of (logarithmic bucket, count), in ms; None if empty."""
    rows = times(histogram)
    if not rows:
        return None
    median, p95, lower, upper = (quantile(rows, share, bucket) for share in (0.5, 0.95, 0.25, 0.75))
    return Spread(median, p95, sum(count for _, count in rows), lower, upper)
