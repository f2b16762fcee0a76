"""Which of the run's processes this one is, as whoever launched it says in the environment. Light: read at start-up."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class _Launcher(NamedTuple):
    """The environment variables of one launcher; where several are set, the first counts."""

    name: str
    rank: tuple[str, ...]
    world: tuple[str, ...]
    local_world: tuple[str, ...]
    run: tuple[str, ...]
    """What together names the run, on all its nodes alike."""


_LAUNCHERS = (
    # torchrun, accelerate, DeepSpeed, and whoever does as they do; it may itself be started by one of the others.
    _Launcher("torchrun", ("RANK",), ("WORLD_SIZE",), ("LOCAL_WORLD_SIZE",), ("TORCHELASTIC_RUN_ID",)),
    _Launcher(
        "Open MPI",
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
        ("PMIX_NAMESPACE",),
    ),
    _Launcher("MPICH", ("PMI_RANK",), ("PMI_SIZE",), ("MPI_LOCALNRANKS",), ("PMI_JOBID",)),
    # Of a step first: a batch script has the job's number of tasks, and is one process.
    _Launcher(
        "SLURM",
        ("SLURM_PROCID",),
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"),
        ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ),
)
"""The first that has set its rank is the one that started this process."""
_MEETING = ("MASTER_ADDR", "MASTER_PORT")


class Placement(NamedTuple):
    """None is what nobody said."""

    launcher: str | None = None
    rank: int | None = None
    world: int | None = None
    local_world: int | None = None
    """How many processes were started on this node."""
    run: str | None = None
    """What the launcher calls the run: the same on all its nodes. Not for the record, which has a digest of it."""


def placed(environment: Mapping[str, str]) -> Placement:
    """This process among those that were started together."""
    for launcher in _LAUNCHERS:
        rank = _number(environment, launcher.rank)
        if rank is not None:
            world, local = _number(environment, launcher.world), _number(environment, launcher.local_world)
            return Placement(launcher.name, rank, world, local, _run(environment, launcher))
    # Without a rank a number of processes may still be said: `WORLD_SIZE=1 python train.py`.
    return Placement(world=_number(environment, ("WORLD_SIZE",)), run=None)


def digest(text: str) -> str:
    """Eight hexadecimal digits that stand for a name which the record need not tell; hashlib takes longer to import."""
    import zlib

    return f"{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"


def identity(placement: Placement) -> dict[str, str | None]:
    """For the header: `launcher`, and digests of the `run` and of this `host`."""
    run = digest(placement.run) if placement.run is not None else None
    return {"launcher": placement.launcher, "run": run, "host": digest(os.uname().nodename)}


def _run(environment: Mapping[str, str], launcher: _Launcher) -> str | None:
    """The launcher's own name for it, else the place where its processes meet."""
    for names in (launcher.run, _MEETING):
        said = [environment.get(name, "") for name in names]
        if said[0] not in ("", "none"):
            return " ".join([launcher.name, *said])
    return None


def _number(environment: Mapping[str, str], names: Iterable[str]) -> int | None:
    """The first that is set to a whole number; `2(x3)` is SLURM's way to say 2 on each of 3 nodes."""
    for name in names:
        match = re.fullmatch(r"(\d+)(\(x\d+\))?", environment.get(name, ""))
        if match is not None:
            return int(match[1])
    return None
