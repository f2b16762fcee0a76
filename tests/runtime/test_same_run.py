"""Which records are of one run, which ranks are missing, and whose answer about the rank counts."""

import sys

import pytest
from builders import run as start
from builders import write_run

from torchperf_lint.errors import UsageError
from torchperf_lint.events import SUFFIX, RawRun, read
from torchperf_lint.runtime import ranks
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.runtime.same_run import belonging, first_rank_first, missing

LAUNCHED = {"launcher": "torchrun", "world": 2, "run": "aa", "host": "h0", "started": 1000.0, "primary": True}


def record(rank=0, group=None, steps=40, path=None, argv=("train.py",), **header):
    state = {"distributed": {"backend": "gloo", "rank": group[0], "world": group[1]}} if group else {}
    whole = {**LAUNCHED, "rank": rank, "argv": argv, **header}
    return RawRun(path or f"r{rank}", whole, steps={"steps": steps}, state=state)


FIRST = record(0, (0, 2))
OF_ANOTHER = {
    "another name": (record(1, (1, 2), run="bb"), "calls it another name"),
    "another number of processes": (record(1, (1, 2), world=4), "started 4 processes, not 2"),
    "another process group": (record(1, (1, 4)), "its process group has 4 processes, not 2"),
    "the same rank": (record(0, (0, 2), path="other"), "rank 0 is there already (r0)"),
    "long before": (record(1, (1, 2), started=10.0), "it started 16 minutes apart, on one machine"),
}


@pytest.mark.parametrize("name", OF_ANOTHER)
def test_records_of_another_run_are_left_out_and_said(name):
    other, why = OF_ANOTHER[name]
    kept, (problem,) = belonging([FIRST, other])
    assert kept == [FIRST]
    assert why in problem.reason
    assert problem.path == other.path


OF_THE_SAME = {
    "the other rank": record(1, (1, 2)),
    "another machine, whose clock is wrong": record(1, (1, 2), host="h1", started=9e9),
    "an earlier version's record": RawRun("r1", {"rank": 1, "world": 2}, steps={"steps": 40}),
    "died before it had a group": record(1, steps=0),
    "a process that a rank started": record(0, primary=False),
    "another folder on another node": record(1, (1, 2), run=None, argv=("/scratch/train.py",)),
}


@pytest.mark.parametrize("name", OF_THE_SAME)
def test_records_of_one_run_stay_together(name):
    other = OF_THE_SAME[name]
    assert belonging([FIRST, other]) == ([FIRST, other], [])


def test_two_scripts_without_ranks_are_two_runs():
    runs = [RawRun(name, {"rank": None, "argv": ["a.py"]}, steps={"steps": 9}) for name in "ab"]
    kept, (problem,) = belonging(runs)
    assert kept == runs[:1]
    assert "a process without a rank is there already" in problem.reason


def test_another_script_is_another_run_unless_the_launcher_knows_better():
    names = {"run": None}
    _, (problem,) = belonging([record(0, (0, 2), **names), record(1, (1, 2), argv=("b.py",), **names)])
    assert "it ran b.py, not train.py" in problem.reason
    assert len(belonging([FIRST, record(1, (1, 2), argv=("b.py",))])[0]) == 2


def test_launchers_on_two_nodes_and_what_they_started_are_one_run():
    launchers = [
        record(n, steps=0, launcher="SLURM", run="job", host=f"h{n}", path=f"launcher{n}", world=2) for n in (0, 1)
    ]
    everyone = [record(n, (n, 4), world=4, host=f"h{n // 2}", primary=False) for n in range(4)]
    runs = [*launchers, *everyone]
    assert belonging(runs) == (runs, [])
    assert missing(runs) == ()
    assert missing(runs[:-1]) == (3,)
    assert evidence_of(runs).nodes == 2


def test_the_process_groups_own_answer_wins():
    # One task a node, which starts two processes each: SLURM's ranks are nodes.
    slurm = {"launcher": "SLURM", "world": 2, "primary": False}
    runs = [record(n // 2, (n, 4), **slurm) for n in (0, 1, 3)]
    assert [rank.rank for rank in evidence_of(runs).ranks] == [0, 1, 3]
    assert missing(runs) == (2,)


def test_a_batch_script_that_trains_alone_misses_nobody():
    alone = record(0, launcher="SLURM", world=8)
    assert missing([alone]) == ()
    assert missing([record(0, world=3)]) == (1, 2)


def test_the_first_rank_stands_for_all():
    runs = [record(1), record(0, primary=False, path="child"), record(0)]
    assert [run.path for run in sorted(runs, key=first_rank_first)] == ["r0", "child", "r1"]


@pytest.fixture
def nodes(tmp_path):
    for number in (0, 1):
        folder = tmp_path / f"node{number}"
        folder.mkdir()
        group = {"record": "state", "key": "distributed", "value": {"backend": "gloo", "rank": number, "world": 3}}
        steps = {"record": "steps", "steps": 40 - 20 * number, "warmup": 10, "bucket": 0.02, "histogram": [[150, 30]]}
        ended = {"record": "ended", "returncode": -9 * number, "wall_s": 1.0}
        header = {"rank": number, "world": 3, "run": "aa", "launcher": "torchrun", "host": f"h{number}"}
        write_run(folder / f"x.rank{number}{SUFFIX}", group, steps, ended, **header)
    return tmp_path


WAYS = {
    "files": ["node1/x.rank1.events.jsonl", "node0/x.rank0.events.jsonl"],
    "folders": ["node1", "node0"],
    "a pattern": ["node*/*.jsonl"],
}


@pytest.mark.parametrize("way", WAYS)
def test_several_nodes_are_merged(nodes, monkeypatch, way):
    monkeypatch.chdir(nodes)
    found = [read(path) for path in ranks.recorded(WAYS[way])]
    assert sorted(run.header["rank"] for run in found) == [0, 1]


def test_the_report_names_nodes_missing_ranks_and_how_one_died(nodes):
    command = [sys.executable, "-m", "torchperf_lint", "--report", "node1", "node0"]
    done = start(command, nodes)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "2 ranks on 2 nodes" in said
    assert "rank 1 was killed by SIGKILL: its last step on record was 20 of 40" in said
    assert "no record of rank 2 " in said
    assert "the record: node0/x.rank0.events.jsonl and those of 1 other folder (judge it again" in said


def test_one_nodes_report_says_where_the_rest_is(tmp_path):
    header = {"rank": 0, "world": 2, "run": "aa", "launcher": "torchrun", "host": "h", "node": 0}
    steps = {"record": "steps", "steps": 40, "warmup": 10, "bucket": 0.02, "histogram": [[150, 30]]}
    path = write_run(tmp_path / f"x.rank0{SUFFIX}", steps, **header)
    done = start([sys.executable, "-m", "torchperf_lint", "--report", path], tmp_path)
    said = " ".join(done.stdout.split())
    assert "no record of rank 1; give --report the files of all nodes" in said
    assert "other folder" not in said


def test_a_folder_or_pattern_without_records_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (".", "nothing*"):
        with pytest.raises(UsageError, match="no events file"):
            ranks.recorded([name])


def test_one_file_stands_for_what_it_started(tmp_path):
    for name in ("a", "a.12", "a.9", "a.rank1", "b.7"):
        write_run(tmp_path / f"{name}{SUFFIX}")
    found = ranks.recorded([str(tmp_path / f"a{SUFFIX}")])
    assert [path.rpartition("/")[2] for path in found] == [f"{name}{SUFFIX}" for name in ("a", "a.9", "a.12")]
