"""Which of several records are of one run: what launchers, process groups and the records themselves say.

Nothing compares the clocks of two machines: start times tell runs apart on one machine only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from torchperf_lint.events import RawRun
from torchperf_lint.model import Problem

_APART_S = 600.0
"""Ranks of one run on one machine start within seconds; queues and slow imports take minutes."""


def belonging(runs: Iterable[RawRun]) -> tuple[list[RawRun], list[Problem]]:
    """The runs that do not contradict those before them, and of the others why they were left out."""
    known: dict[Any, Any] = {}
    kept, problems = [], []
    for run in runs:
        said = dict(_says(run))
        reason = next(filter(None, (_differs(key, known.get(key), value) for key, value in said.items())), None)
        if reason is not None:
            problems.append(Problem(run.path, None, f"left out, for it is of another run: {reason}"))
            continue
        known = said | known
        kept.append(run)
    return kept, problems


def first_rank_first(run: RawRun) -> tuple[int, bool]:
    """A key to sort by: what stands for the whole run is the first rank's own process."""
    return run.place[0] or 0, not run.header.get("primary", True)


def missing(runs: Iterable[RawRun]) -> tuple[int, ...]:
    """Ranks that the process group, or else the launcher, announced and that left no file."""
    everyone = list(runs)
    groups = [group for run in everyone if (group := run.state.get("distributed"))]
    launched = {(run.header.get("rank"), run.header.get("world") or 0) for run in everyone}
    if not groups and all(run.header.get("launcher") == "SLURM" and run.steps.get("steps") for run in everyone):
        return ()  # A batch script has its job's number of tasks, and may be one process that trains alone.
    world = max([group.get("world") or 0 for group in groups] or [processes for _, processes in launched], default=0)
    seen = {group.get("rank") for group in groups} | {rank for rank, processes in launched if processes == world}
    return tuple(rank for rank in range(world) if rank not in seen)


def _says(run: RawRun) -> Iterator[tuple[Any, Any]]:
    """What must be the same, or must not be there twice, by what it is."""
    header, (rank, _) = run.header, run.place
    launcher, own = header.get("launcher"), bool(header.get("primary", True))
    trained = bool(run.steps.get("steps"))
    if header.get("rank") is not None:
        yield ("name", launcher), header.get("run")
        yield ("world", launcher), header.get("world")
        yield ("start", launcher, header.get("host")), header.get("started") if own else None
    if own and trained:
        yield ("group",), (run.state.get("distributed") or {}).get("world")
        yield ("rank", rank), run.path
        if rank is not None and header.get("run") is None:
            yield ("script",), _program(run)


def _differs(key: tuple[Any, ...], before: Any, now: Any) -> str | None:  # noqa: ANN401
    """Why two answers cannot be of one run; None where they can, or one is not known."""
    if before is None or now is None:
        return None
    if key[0] == "rank":
        return f"{f'rank {key[1]}' if key[1] is not None else 'a process without a rank'} is there already ({before})"
    if key[0] == "start":
        apart = abs(now - before)
        return f"it started {apart / 60:.0f} minutes apart, on one machine" if apart > _APART_S else None
    if before == now:
        return None
    return {
        "name": "its launcher calls it another name",
        "world": f"its launcher started {now} processes, not {before}",
        "group": f"its process group has {now} processes, not {before}",
        "script": f"it ran {now}, not {before}",
    }[key[0]]


def _program(run: RawRun) -> str | None:
    """The script's name, without its folder: nodes may have it in different ones."""
    words = [word for word in run.header.get("argv", ()) if word.endswith(".py")]
    return str(words[0]).rpartition("/")[2] if words else None
