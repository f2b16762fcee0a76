"""Ranks started in other ways than by torchrun around us: each has its number, and one report has them all."""

import importlib.util
import shutil
import subprocess
import sys
import textwrap

import pytest
from builders import ENVIRONMENT, TRAIN, run, watch

from torchperf_lint.events import SUFFIX, read
from torchperf_lint.runtime.reading import evidence_of

TRAINED = """
    import os, sys, torch
    import torch.distributed as dist
    from torch import nn
    import torch.multiprocessing as mp

    def train(rank, world=2):
        dist.init_process_group("gloo", init_method=f"file://{os.getcwd()}/meeting", rank=rank, world_size=world)
        torch.set_num_threads(1)
        model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(40):
            optimizer.zero_grad()
            model(torch.ones(2, 4)).mean().backward()
            optimizer.step()
        dist.destroy_process_group()
"""
STARTED = (
    TRAINED
    + """
    if __name__ == "__main__":
        started = [mp.get_context("spawn").Process(target=train, args=(rank,)) for rank in (0, 1)]
        for process in started:
            process.start()
        for process in started:
            process.join()
            print(process.exitcode)
"""
)
OF_SLURM = (
    TRAINED
    + """
    if __name__ == "__main__":
        train(int(os.environ["SLURM_PROCID"]))
"""
)
OF_OPEN_MPI = OF_SLURM.replace("SLURM_PROCID", "OMPI_COMM_WORLD_RANK")
SLURM = {"SLURM_NTASKS": "2", "SLURM_NODEID": "0", "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"}


def ranks_of(evidence):
    return [(rank.rank, rank.steps, rank.group) for rank in evidence.ranks]


def test_processes_that_a_script_starts_have_the_ranks_it_gives_them(tmp_path):
    ran = watch(tmp_path, STARTED)
    assert ran.returncode == 0, ran.err
    assert ran.out.splitlines()[:2] == ["0", "0"]
    found = evidence_of([read(str(path)) for path in tmp_path.glob(f"*{SUFFIX}")])
    assert ranks_of(found) == [(0, 40, 2), (1, 40, 2)]
    assert (found.missing_ranks, found.nodes) == ((), 1)
    # From the record alone it is the same report.
    again = run([sys.executable, "-m", "torchperf_lint", "--report", f"run{SUFFIX}"], tmp_path)
    assert "2 ranks" in again.stdout
    assert "Ranks\n" in again.stdout


def test_a_launcher_within_the_watched_process_tells_its_ranks(tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(TRAIN / "late_rank.py")]
    watcher = ["-m", "torchperf_lint", "--runtime", "--events", f"in{SUFFIX}", *launcher]
    done = run([sys.executable, *watcher], tmp_path)
    assert done.returncode == 0, done.stderr
    runs = [read(str(path)) for path in tmp_path.glob(f"in.*{SUFFIX}")]
    found = evidence_of(runs)
    assert ranks_of(found) == [(0, 60, 2), (1, 60, 2)]
    headers = {(r.header["launcher"], r.header["run"]) for r in runs if r.header["rank"] is not None}
    assert len(headers) == 1
    assert "rank 1 is late by" in " ".join((done.stdout + done.stderr).split())


def start(directory, environments, script="train.py"):
    command = [sys.executable, "-m", "torchperf_lint", "--runtime", "--events", f"r{SUFFIX}", script]
    started = [
        subprocess.Popen(
            command,
            cwd=directory,
            env={**ENVIRONMENT, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for more in environments
    ]
    return [(process.communicate(timeout=100), process.returncode) for process in started]


def test_tasks_of_slurm_find_each_other(tmp_path):
    (tmp_path / "train.py").write_text(textwrap.dedent(OF_SLURM), encoding="utf-8")
    first, second = start(tmp_path, [{**SLURM, "SLURM_PROCID": n, "SLURM_LOCALID": n} for n in "01"])
    assert [code for _, code in (first, second)] == [0, 0], (first, second)
    assert "2 ranks" in first[0][0] + first[0][1]
    assert second[0] == ("", "")
    runs = [read(str(tmp_path / f"r.rank{n}{SUFFIX}")) for n in (0, 1)]
    assert {run.header["launcher"] for run in runs} == {"SLURM"}
    assert ranks_of(evidence_of(runs)) == [(0, 40, 2), (1, 40, 2)]


@pytest.mark.parametrize(
    ("rank", "world"), [("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")]
)
def test_processes_of_mpi_have_files_of_their_own(tmp_path, rank, world):
    (tmp_path / "train.py").write_text("print('ran')\n", encoding="utf-8")
    ended = start(tmp_path, [{rank: n, world: "2"} for n in "01"])
    assert [code for _, code in ended] == [0, 0], ended
    assert [said[0].splitlines()[0] for said, _ in ended] == ["ran", "ran"]
    assert ended[1][0] == ("ran\n", "")
    assert [read(str(tmp_path / f"r.rank{n}{SUFFIX}")).header["world"] for n in (0, 1)] == [2, 2]


def test_two_ranks_under_mpirun(tmp_path):
    mpirun = shutil.which("mpirun")
    if mpirun is None or "Open MPI" not in run([mpirun, "--version"], tmp_path).stdout:
        pytest.skip("mpirun of Open MPI is not installed")
    (tmp_path / "train.py").write_text(textwrap.dedent(OF_OPEN_MPI), encoding="utf-8")
    options = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]
    done = run([mpirun, *options, sys.executable, "-m", "torchperf_lint", "--runtime", "train.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert (done.stdout + done.stderr).count("2 ranks") == 1
    runs = [read(str(path)) for path in tmp_path.glob(f"torchperf-*{SUFFIX}")]
    assert {run.header["launcher"] for run in runs} == {"Open MPI"}
    assert ranks_of(evidence_of(runs)) == [(0, 40, 2), (1, 40, 2)]


ACCELERATED = """
import torch
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

accelerator = Accelerator(cpu=True)
torch.set_num_threads(1)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = DataLoader(TensorDataset(torch.randn(160, 4), torch.randn(160, 1)), batch_size=2)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x, y in loader:
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
    accelerator.gather(loss.detach())
del model, optimizer, loader, loss  # while the group is there: what is left for the end of Python may abort it
accelerator.end_training()
"""


@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
def test_accelerate_launch(tmp_path):
    (tmp_path / "train.py").write_text(ACCELERATED, encoding="utf-8")
    # With --cpu it starts one process, unless there is MPI; --multi_gpu is how it starts several, on the CPU here.
    options = ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--dynamo_backend", "no"]
    words = ["-m", "accelerate.commands.launch", *options, "--mixed_precision", "no", "-m", "torchperf_lint"]
    done = run([sys.executable, *words, "--runtime", "--events", f"a{SUFFIX}", "train.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    found = evidence_of([read(str(tmp_path / f"a.rank{n}{SUFFIX}")) for n in (0, 1)])
    assert ranks_of(found) == [(0, 40, 2), (1, 40, 2)]
    gathered = [event for event in found.events if event.kind == "collective" and event.count == 40]
    assert ("train.py", 18) in {event.via for event in gathered}
