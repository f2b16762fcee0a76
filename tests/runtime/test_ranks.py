"""Several training processes, one report: from rank 0, with every rank in it; each ends as its own script does."""

import subprocess
import sys
import threading
import time

import pytest
from builders import ENVIRONMENT, TRAIN, run, watch, write_run
from test_trace import checked

from torchperf_lint.events import SUFFIX, Writer, read
from torchperf_lint.runtime import ranks
from torchperf_lint.runtime.reading import evidence_of


def test_paths_of_one_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ranks.events_path(f"a{SUFFIX}", None, {}) == str(tmp_path / f"a{SUFFIX}")
    assert ranks.events_path(None, None, {}).startswith(str(tmp_path / "torchperf-"))


@pytest.mark.parametrize(
    ("asked", "environment", "stem"),
    [
        (f"/out/a{SUFFIX}", {}, "/out/a"),
        ("/out/a", {}, "/out/a"),
        (None, {"TORCHELASTIC_RUN_ID": "job/7"}, "torchperf-job_7"),
        (None, {"TORCHELASTIC_RUN_ID": "none", "MASTER_PORT": "29500"}, "torchperf-29500"),
        (None, {"MASTER_PORT": "29500"}, "torchperf-29500"),
        (None, {"RANK": "0", "MASTER_PORT": "29500", "SLURM_JOB_ID": "7"}, "torchperf-29500-7"),
        (None, {"SLURM_PROCID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "1", "MASTER_PORT": "1"}, "torchperf-7-1"),
    ],
)
def test_ranks_of_one_run_share_a_stem(tmp_path, monkeypatch, asked, environment, stem):
    monkeypatch.chdir(tmp_path)
    paths = [ranks.events_path(asked, rank, environment) for rank in (0, 11)]
    expected = stem if stem.startswith("/") else str(tmp_path / stem)
    assert paths == [f"{expected}.rank0{SUFFIX}", f"{expected}.rank11{SUFFIX}"]


def test_siblings_by_rank(tmp_path):
    names = [f"a.rank{n}{SUFFIX}" for n in (10, 0, 2)]
    for name in [*names, f"b.rank1{SUFFIX}", f"a{SUFFIX}", f"a.rank3.77{SUFFIX}", "a.rank1.txt"]:
        (tmp_path / name).write_text("", encoding="utf-8")
    found = ranks.siblings(str(tmp_path / f"a.rank2{SUFFIX}"))
    assert [path.rpartition("/")[2] for path in found] == [f"a.rank{n}{SUFFIX}" for n in (0, 2, 10)]
    assert ranks.siblings(str(tmp_path / f"a{SUFFIX}")) == [str(tmp_path / f"a{SUFFIX}")]


def test_rank_zero_waits_until_the_others_have_ended(tmp_path):
    paths = [str(tmp_path / f"a.rank{n}{SUFFIX}") for n in (0, 1)]
    for path in paths:
        write_run(path)

    def end():
        time.sleep(0.3)
        Writer(paths[1]).write([{"record": "ended", "returncode": 0}])

    thread = threading.Thread(target=end)
    started = time.monotonic()
    thread.start()
    assert ranks.wait_for(paths[0], 2) == paths
    assert 0.25 < time.monotonic() - started < 5
    thread.join()


def test_rank_zero_loses_patience(tmp_path):
    paths = [str(tmp_path / f"a.rank{n}{SUFFIX}") for n in (0, 1)]
    for path in paths:
        write_run(path)
    assert ranks.wait_for(paths[0], 2, patience_s=0.15) == paths
    assert ranks.wait_for(paths[0], 3, patience_s=0.0) == paths


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    directory = tmp_path_factory.mktemp("torchrun")
    words = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        "-m",
        "torchperf_lint",
        "--runtime",
    ]
    done = run([sys.executable, *words, "--events", f"two{SUFFIX}", str(TRAIN / "two_ranks.py")], directory)
    return directory, done


def test_torchrun_ends_well_with_one_report(two):
    directory, done = two
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines().count("done") == 1
    assert (done.stdout + done.stderr).count("two_ranks.py | ") == 1
    assert "2 ranks" in done.stdout + done.stderr
    assert sorted(p.name for p in directory.glob(f"*{SUFFIX}")) == [f"two.rank{n}{SUFFIX}" for n in (0, 1)]


def test_both_ranks_are_in_the_evidence(two):
    directory, _ = two
    runs = [read(str(directory / f"two.rank{n}{SUFFIX}")) for n in (0, 1)]
    found = evidence_of(runs)
    assert [(rank.rank, rank.steps) for rank in found.ranks] == [(0, 40), (1, 40)]
    assert found.missing_ranks == ()
    assert [run.ended["returncode"] for run in runs] == [0, 0]
    assert runs[0].findings is not None
    assert runs[1].findings is None
    assert [run.header["world"] for run in runs] == [2, 2]


def test_the_report_can_be_made_again_from_one_ranks_file(two):
    directory, _ = two
    command = [sys.executable, "-m", "torchperf_lint", "--report", f"two.rank1{SUFFIX}"]
    done = run(command, directory)
    assert done.returncode == 0, done.stderr
    assert "2 ranks" in done.stdout


def test_its_trace_is_by_the_rules(two):
    directory, _ = two
    done = run(
        [sys.executable, "-m", "torchperf_lint", "--report", f"two.rank0{SUFFIX}", "--trace", "t.json"], directory
    )
    assert done.returncode == 0, done.stderr
    found = checked((directory / "t.json").read_text(encoding="utf-8"))["traceEvents"]
    for rank in (0, 1):
        steps = [entry for entry in found if entry.get("cat") == "step" and entry["pid"] == rank]
        assert [entry["name"] for entry in steps] == [f"step {n}" for n in range(11, 41)]


def start_ranks(directory, which, world):
    (directory / "train.py").write_text(
        "import os, sys, time\ntime.sleep(0.2 * int(os.environ['RANK']))\nsys.exit(3 * int(os.environ['RANK']))\n",
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "torchperf_lint", "--runtime", "--events", f"r{SUFFIX}", "train.py"]
    environments = [{**ENVIRONMENT, "RANK": str(rank), "WORLD_SIZE": str(world)} for rank in which]
    started = [
        subprocess.Popen(command, cwd=directory, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for env in environments
    ]
    said = [process.communicate(timeout=60) for process in started]
    return [(process.returncode, *texts) for process, texts in zip(started, said, strict=True)]


def test_a_failing_ranks_exit_code_comes_through(tmp_path):
    (first, out0, err0), (second, out1, err1) = start_ranks(tmp_path, (0, 1), 2)
    assert (first, second) == (0, 3), (err0, err1)
    assert "train.py" in out0 + err0
    assert (out1, err1) == ("", "")
    assert read(str(tmp_path / f"r.rank1{SUFFIX}")).ended["returncode"] == 3


def test_a_missing_rank_is_named(tmp_path):
    write_run(tmp_path / f"r.rank0{SUFFIX}", rank=0, world=3, pid=1)
    write_run(tmp_path / f"r.rank2{SUFFIX}", rank=2, world=3, pid=2)
    done = run([sys.executable, "-m", "torchperf_lint", "--report", f"r.rank0{SUFFIX}"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "rank 1" in done.stdout


SPAWNED = """
    import sys
    import torch
    from torch import nn
    import torch.multiprocessing as mp
    from torch.utils.data import DataLoader, TensorDataset

    def train(rank):
        torch.set_num_threads(1)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for (x,) in DataLoader(TensorDataset(torch.randn(48 + 16 * rank, 4)), batch_size=4):
            model(x).mean().backward()
            optimizer.step()

    if __name__ == "__main__":
        mp.spawn(train, nprocs=2)
        print("spawned")
"""


@pytest.fixture(scope="module")
def spawned(tmp_path_factory):
    directory = tmp_path_factory.mktemp("spawned")
    return directory, watch(directory, SPAWNED)


def test_spawned_ranks_have_files_of_their_own(spawned):
    directory, ran = spawned
    assert ran.returncode == 0, ran.err
    assert ran.out.splitlines()[0] == "spawned"
    files = sorted(directory.glob(f"*{SUFFIX}"))
    runs = [read(str(path)) for path in files]
    assert sorted(run.steps.get("steps", 0) for run in runs) == [0, 12, 16]
    assert [run.header["primary"] for run in runs if run.steps.get("steps")] == [False, False]


def test_spawned_ranks_are_merged_into_one_report(spawned):
    directory, ran = spawned
    runs = [ran.record, *(read(str(p)) for p in sorted(directory.glob(f"run.*{SUFFIX}")) if p != ran.path)]
    found = evidence_of(runs)
    assert sorted(rank.steps for rank in found.ranks) == [12, 16]
    assert found.steps == 16
    assert found.returncode == 0
    assert "2 ranks" in ran.out + ran.err
