"""Which rank a process is, by whatever launched it."""

import json
from pathlib import Path

import pytest

from torchperf_lint.runtime.placement import Placement, digest, identity, name_of_run, placed

RECORDED = json.loads(Path(__file__).with_name("recorded_environments.json").read_text(encoding="utf-8"))

TORCHRUN = {
    "RANK": "5",
    "WORLD_SIZE": "8",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "n0",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
}
SLURM = {
    "SLURM_PROCID": "3",
    "SLURM_NTASKS": "4",
    "SLURM_NODEID": "1",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}
MPICH = {"PMI_RANK": "0", "PMI_SIZE": "2"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Placement()),
        (TORCHRUN, Placement("torchrun", 5, 8, 4, "torchrun n0 29500")),
        ({**TORCHRUN, "TORCHELASTIC_RUN_ID": "job"}, Placement("torchrun", 5, 8, 4, "torchrun job")),
        ({"RANK": "0", "WORLD_SIZE": "2"}, Placement("torchrun", 0, 2)),
        (SLURM, Placement("SLURM", 3, 4, 2, "SLURM 77 0")),
        ({**SLURM, "SLURM_STEP_NUM_TASKS": "2"}, Placement("SLURM", 3, 2, 2, "SLURM 77 0")),
        ({**SLURM, **TORCHRUN}, Placement("torchrun", 5, 8, 4, "torchrun n0 29500")),
        (OPEN_MPI, Placement("Open MPI", 1, 2, 2)),
        ({**OPEN_MPI, "PMIX_NAMESPACE": "1@2"}, Placement("Open MPI", 1, 2, 2, "Open MPI 1@2")),
        ({**SLURM, **OPEN_MPI}, Placement("Open MPI", 1, 2, 2)),
        (MPICH, Placement("MPICH", 0, 2)),
        ({**SLURM, **MPICH}, Placement("MPICH", 0, 2)),
        ({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "3,1"}, Placement("SLURM", 3, 4, 1, "SLURM 77 0")),
        ({**SLURM, "SLURM_STEP_TASKS_PER_NODE": "3,x"}, Placement("SLURM", 3, 4, None, "SLURM 77 0")),
        ({"RANK": "one", "SLURM_PROCID": ""}, Placement()),
        ({"WORLD_SIZE": "1"}, Placement(world=1)),
    ],
)
def test_where_a_process_stands(environment, expected):
    assert placed(environment) == expected


@pytest.mark.parametrize(
    ("how", "expected", "name"),
    [
        ("sbatch -N 2 -n 3, the script itself", [("SLURM", 0, 3, None, None)], "5"),
        ("srun in it", [("SLURM", 0, 3, 2, 0), ("SLURM", 1, 3, 2, 0), ("SLURM", 2, 3, 1, 1)], "5-0"),
        ("srun --mpi=pmi2 in it", [("SLURM", 0, 3, 2, 0), ("SLURM", 1, 3, 2, 0), ("SLURM", 2, 3, 1, 1)], "5-1"),
        (
            "srun -N 2 torchrun --nnodes 2 --nproc-per-node 2, ranks 1 and 3",
            [("torchrun", 1, 4, 2, 0), ("torchrun", 3, 4, 2, 1)],
            "j1",
        ),
        ("mpirun -n 2", [("Open MPI", 0, 2, 2, None), ("Open MPI", 1, 2, 2, None)], "43122689"),
    ],
)
def test_what_real_launchers_set(how, expected, name):
    found = [placed(environment) for environment in RECORDED[how]]
    assert [(p.launcher, p.rank, p.world, p.local_world, p.node) for p in found] == expected
    assert len({p.run for p in found}) == 1
    assert {name_of_run(environment) for environment in RECORDED[how]} == {name}


def test_names_are_not_in_the_record():
    said = identity(placed(SLURM))
    assert said["launcher"] == "SLURM"
    assert said["run"] == digest("SLURM 77 0") == identity(placed({**SLURM, "SLURM_PROCID": "0"}))["run"]
    assert len(said["run"]) == len(said["host"]) == 8
    assert identity(Placement())["run"] is None
