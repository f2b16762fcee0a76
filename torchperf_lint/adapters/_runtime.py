"""`--runtime` and `--report`: options in, the script run as it asks to be, a report and an exit code out."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from torchperf_lint.adapters import _collector, _job
from torchperf_lint.comparing import Comparison, compare
from torchperf_lint.errors import TorchPerfError, UsageError
from torchperf_lint.events import Writer
from torchperf_lint.facts.processes.text_files import kind_of
from torchperf_lint.model import Finding, Outcome, Problem
from torchperf_lint.paths import Homes, collect
from torchperf_lint.run_report import RunReport
from torchperf_lint.runtime import judging, launch, ranks
from torchperf_lint.runtime.devices import recorded_devices
from torchperf_lint.runtime.placement import placed
from torchperf_lint.runtime.request import Request, Target, own_flags
from torchperf_lint.runtime.request import ranks as rank_of
from torchperf_lint.runtime.same_run import belonging, first_rank_first
from torchperf_lint.runtime.sampler import Sampler, Utilisation

logger = logging.getLogger(__name__)
Show = Callable[[RunReport], None]
ShowCompared = Callable[[RunReport, Comparison | None], None]
Warn = Callable[[str], None]
CONFIRMED = 1


def watch(options: argparse.Namespace, target: Target, show: Show, warn: Warn) -> int:
    """Run the target, show what the run says, and end as it ended. Raises UsageError before anything has started."""
    homes = _job.homes_of(options)
    request = _request(options, target, homes)
    ended: launch.Ended[Utilisation] = launch.run(request, lambda pid: _sample(pid, request))
    utilisation = ended.utilisation.to_dict() if ended.utilisation is not None else None
    ending = {"returncode": ended.returncode, "wall_s": round(ended.wall_s, 3), "interrupted": ended.interrupted}
    code = 0
    if not ended.events:
        warn(f"torchperf-lint: nothing was recorded: {ended.unwatched or 'the script ended before it could be'}\n")
    elif request.rank:
        _complete(ended.events[0], utilisation, ending, warn)
    else:
        try:
            code = _report(options, request, ended, (utilisation, ending), homes, show, warn)
        except Exception as error:
            # The border of the report: whatever fails in it, the script has run, and its exit code is what counts.
            logger.debug("the report failed", exc_info=True)
            reason = error if isinstance(error, TorchPerfError) else f"{type(error).__name__}: {error}"
            warn(f"torchperf-lint: the report failed: {reason}; the record is {ended.events[0]}\n")
    if ended.returncode < 0:
        launch.end_like(ended.returncode)
    return ended.returncode or code


def _report(
    options: argparse.Namespace,
    request: Request,
    ended: launch.Ended[Utilisation],
    seen: tuple[Mapping[str, object] | None, Mapping[str, object]],
    homes: Homes,
    show: Show,
    warn: Warn,
) -> int:
    _collector.rest()
    files = ended.events
    everyone = list(files)
    if request.rank == 0 and (request.world or 1) > 1 and not _is_alone(files[0]):
        everyone = list(dict.fromkeys([files[0], *ranks.wait_for(files[0], _ranks_here(request)), *files[1:]]))
    runs, problems = judging.read_all(everyone)
    if not runs:
        warn("".join(f"torchperf-lint: {p.path}: {p.reason}\n" for p in problems))
        return 0
    runs, strangers = belonging(runs)
    problems += strangers
    runs[0] = judging.with_end(runs[0], *seen)
    judged = judging.judge(runs, judging.linting(homes), _more(options, homes), problems)
    try:
        judging.append(files[0], judged.report.findings, *seen)
    except OSError as error:
        warn(f"torchperf-lint: {files[0]} could not be completed: {error.strerror}\n")
    show(judged)
    return _code(options, judged.report.findings)


def replay(options: argparse.Namespace, show: ShowCompared) -> int:
    """Judge and show recorded runs again, or what changed between two. Raises UsageError where none can be read."""
    if not options.paths:
        raise UsageError("--report: name one events file or more")
    _collector.rest()
    homes = _job.homes_of(options)
    judged, problems = _judged("--report", options.paths, homes)
    comparison = None
    if options.compare is not None:
        after, more = _judged("--compare", [options.compare], homes)
        comparison = compare(judged, after)
        judged, problems = after, [*problems, *more]
    show(judged, comparison)
    return _job.PROBLEMS if problems else _code(options, judged.report.findings)


def _judged(option: str, names: Sequence[str], homes: Homes) -> tuple[RunReport, list[Problem]]:
    runs, problems = judging.read_all(ranks.recorded(names))
    if not runs:
        raise UsageError(f"{option}: " + "; ".join(f"{p.path}: {p.reason}" for p in problems))
    runs, strangers = belonging(runs)
    problems += strangers
    runs.sort(key=first_rank_first)
    return judging.judge(runs, judging.linting(homes), (), problems), problems


def _code(options: argparse.Namespace, findings: Sequence[Finding]) -> int:
    confirmed = any(f.verdict is not None and f.verdict.outcome is Outcome.CONFIRMED for f in findings)
    return CONFIRMED if options.fail_on_confirmed and confirmed else 0


def _request(options: argparse.Namespace, target: Target, homes: Homes) -> Request:
    rank, world = rank_of(os.environ)
    at = homes.cwd if target.is_module else Path(os.path.abspath(homes.cwd / target.name))  # noqa: PTH100 -- links stay
    return Request(
        target=target,
        events=ranks.events_path(options.events, rank, os.environ),
        flags=own_flags(),
        simulate=options.simulate,
        warmup=_number(options.warmup, "--warmup", 10, least=0) or 0,
        window=_number(options.window, "--window", 8, least=0) or 0,
        steps=_number(options.steps, "--steps", None, least=1),
        project_root=str(homes.of(at).root),
        rank=rank,
        world=world,
    )


def _number(said: str | None, option: str, default: int | None, least: int) -> int | None:
    if said is None:
        return default
    if not said.isdecimal() or int(said) < least:
        raise UsageError(f"{option}: {said!r} is not a whole number of at least {least}")
    return int(said)


def _ranks_here(request: Request) -> int:
    """How many ranks' files to wait for: those of other nodes may be on disks of theirs."""
    return placed(os.environ).local_world or request.world or 1


def _is_alone(path: str) -> bool:
    """Whether it trained in no process group under SLURM, whose batch scripts look like one of many processes."""
    runs, _ = judging.read_all([path])
    return any(
        run.header.get("launcher") == "SLURM" and run.steps.get("steps") and not run.state.get("distributed")
        for run in runs
    )


def _complete(path: str, utilisation: Mapping[str, object] | None, ending: Mapping[str, object], warn: Warn) -> None:
    """A rank other than 0 leaves its file for rank 0 to read."""
    try:
        Writer(path).write(judging.ended_records(utilisation, ending))
    except OSError as error:
        warn(f"torchperf-lint: {path} could not be completed: {error.strerror}\n")


def _more(options: argparse.Namespace, homes: Homes) -> list[Path]:
    if not options.lint:
        return []
    found = collect(options.lint, homes)
    # A run tells nothing about the lines of a shell script.
    return [path for group in found.groups for path in group.files if kind_of(path.name) is None]


def _sample(pid: int, request: Request) -> Sampler:
    return Sampler(pid, devices=lambda: recorded_devices(request.events))
