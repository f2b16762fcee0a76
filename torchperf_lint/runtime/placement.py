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
    node: tuple[str, str] | None = None
    """The number of this node among those of the run, and how many there are."""


_AGENTS = ("GROUP_RANK", "GROUP_WORLD_SIZE")
_MPICH = _Launcher("MPICH", ("PMI_RANK",), ("PMI_SIZE",), ("MPI_LOCALNRANKS",), ("PMI_JOBID",))
_SLURM = _Launcher(
    "SLURM",
    ("SLURM_PROCID",),
    # Of a step first: a batch script has the job's number of tasks, and is one process.
    ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
    ("SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"),
    ("SLURM_JOB_ID", "SLURM_STEP_ID"),
    ("SLURM_NODEID", "SLURM_STEP_NUM_NODES"),
)
_LAUNCHERS = (
    # torchrun, accelerate, DeepSpeed, and whoever does as they do; it may itself be started by one of the others.
    _Launcher("torchrun", ("RANK",), ("WORLD_SIZE",), ("LOCAL_WORLD_SIZE",), ("TORCHELASTIC_RUN_ID",), _AGENTS),
    _Launcher(
        "Open MPI",
        ("OMPI_COMM_WORLD_RANK",),
        ("OMPI_COMM_WORLD_SIZE",),
        ("OMPI_COMM_WORLD_LOCAL_SIZE",),
        ("PMIX_NAMESPACE",),
    ),
    _MPICH,
    _SLURM,
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
    node: int | None = None
    """Which of the run's nodes this is, from 0, where there are several."""


def placed(environment: Mapping[str, str]) -> Placement:
    """This process among those that were started together."""
    launcher = _started_by(environment)
    if launcher is None:
        # Without a rank a number of processes may still be said: `WORLD_SIZE=1 python train.py`.
        return Placement(world=_number(environment, ("WORLD_SIZE",)))
    node, nodes = (_number(environment, (name,)) for name in launcher.node or ("", ""))
    return Placement(
        launcher.name,
        _number(environment, launcher.rank),
        _number(environment, launcher.world),
        _number(environment, launcher.local_world, node or 0),
        _run(environment, launcher),
        node if nodes is not None and nodes > 1 else None,
    )


def name_of_run(environment: Mapping[str, str]) -> str | None:
    """What all processes of the run can call their files; None where nothing says it.

    A job of SLURM is many runs, one for each `srun`, and their ports may all be the same.
    """
    launcher = _started_by(environment) or _LAUNCHERS[0]
    for names in (launcher.run, ("MASTER_PORT", "SLURM_JOB_ID"), ("SLURM_JOB_ID",)):
        said = [environment.get(name, "") for name in names]
        if said[0] not in ("", "none"):
            return "-".join(filter(None, said))
    return None


def digest(text: str) -> str:
    """Eight hexadecimal digits that stand for a name which the record need not tell; hashlib takes longer to import."""
    import zlib

    return f"{zlib.crc32(text.encode('utf-8', 'backslashreplace')):08x}"


def identity(placement: Placement) -> dict[str, str | int | None]:
    """For the header: `launcher`, digests of the `run` and of this `host`, and the `node` by its number."""
    run = digest(placement.run) if placement.run is not None else None
    return {"launcher": placement.launcher, "run": run, "host": digest(os.uname().nodename), "node": placement.node}


def _run(environment: Mapping[str, str], launcher: _Launcher) -> str | None:
    """The launcher's own name for it, else the place where its processes meet."""
    for names in (launcher.run, _MEETING):
        said = [environment.get(name, "") for name in names]
        if said[0] not in ("", "none"):
            return " ".join([launcher.name, *said])
    return None


def _started_by(environment: Mapping[str, str]) -> _Launcher | None:
    first = next((known for known in _LAUNCHERS if _number(environment, known.rank) is not None), None)
    if first is _MPICH and all(
        _number(environment, said) == _number(environment, meant)
        for said, meant in ((first.rank, _SLURM.rank), (first.world, _SLURM.world))
    ):
        return _SLURM  # `srun --mpi=pmi2` says it in both ways, and tells nodes in its own
    return first


def _number(environment: Mapping[str, str], names: Iterable[str], node: int = 0) -> int | None:
    """The first that is set to a whole number; `2(x3),1` is how SLURM says 2 on each of 3 nodes, 1 on the next."""
    for name in names:
        parts = [re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part) for part in environment.get(name, "").split(",")]
        each = [int(part[1]) for part in parts if part is not None for _ in range(min(int(part[2] or 1), 100_000))]
        if each and None not in parts:
            return each[min(node, len(each) - 1)]
    return None
