"""TPL763: which of the ranks is late, told from their own records; and where that cannot be told."""

import sys
from dataclasses import replace

import pytest
from builders import TRAIN, run, write_run

from torchperf_lint.events import SUFFIX, read
from torchperf_lint.evidence import Evidence
from torchperf_lint.recorded import Rank, Spread
from torchperf_lint.rules.tpl763_rank_imbalance import RankImbalance
from torchperf_lint.runtime.reading import evidence_of


def said(evidence):
    return list(RankImbalance().diagnose(evidence))


def rank(number, data=1.0, forward=5.0, after=0.5, step_ms=20.0, steps=110, group=2):
    alone = {"data": data, "forward": forward, "after the step": after}
    return Rank(number, 100 + (number or 0), steps, Spread(step_ms, step_ms, steps - 10), 0.0, alone, group)


def ranks(*each, **changes):
    values = {"steps": 110, "step_ms": Spread(20.0, 20.0, 100), "ranks": each}
    return Evidence(**{**values, **changes})


def test_the_late_rank_is_named_with_its_phase_and_by_how_much():
    (found,) = said(ranks(rank(0), rank(1, data=9.0)))
    assert found.title == ("rank 1 is late by 8.00 ms a step, 40 % of the step's time, and the other ranks wait for it")
    assert found.evidence.startswith("it waits for its data longer: data takes 9.00 ms there and 1.00 ms on the others")
    assert "rank 1 14.5 ms, rank 0 6.50 ms" in found.evidence
    assert "were not compared" in found.evidence
    assert "loader" in found.advice
    assert found.share == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("more", "phase", "advice"),
    [({"forward": 9.0}, "forward", "balance"), ({"after": 4.5}, "after the step", "logging")],
)
def test_each_phase_has_its_advice(more, phase, advice):
    (found,) = said(ranks(rank(0, **more), rank(1), rank(2), rank(3)))
    assert found.title.startswith("rank 0 is late by 4.00 ms")
    assert f": {phase} takes " in found.evidence
    assert advice in found.advice


SILENT = {
    "all alike": ranks(rank(0), rank(1, data=1.2)),
    "one process": ranks(rank(0, data=15.0)),
    "what one has in data another has in forward": ranks(rank(0, data=9.0), rank(1, forward=13.0)),
    "no process group": ranks(rank(0, group=None), rank(1, data=9.0, group=None)),
    "one of them in a group": ranks(rank(0, group=None), rank(1, data=9.0)),
    "too few steps": ranks(rank(0, steps=25), rank(1, data=9.0, steps=25)),
    "different numbers of steps": ranks(rank(0), rank(1, data=9.0, steps=60)),
    "no common pace": ranks(rank(0, step_ms=10.0), rank(1, data=9.0)),
    "no figures": ranks(rank(0), replace(rank(1), alone_ms={})),
    "no time": ranks(rank(0), replace(rank(1, data=9.0), step_ms=None)),
    "simulated": ranks(rank(0), rank(1, data=9.0), simulated=True),
    "a step too short to speak of": ranks(
        rank(0, 0.001, 0.01, 0.001, 0.1), rank(1, 0.05, 0.01, 0.001, 0.1), step_ms=Spread(0.1, 0.1, 100)
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_where_it_is_silent(name):
    assert said(SILENT[name]) == []


def test_ranks_without_a_record_are_named():
    late = rank(2, data=9.0, group=4)
    (found,) = said(ranks(rank(0, group=4), late, missing_ranks=(1, 3)))
    assert found.evidence.endswith("no record of ranks 1, 3, which may be later still")
    (found,) = said(ranks(rank(0, group=8), rank(2, data=9.0, group=8)))
    assert found.evidence.endswith("6 of the group's 8 ranks left no record here")


def test_on_a_device_the_figures_are_an_upper_bound():
    (found,) = said(ranks(rank(0), rank(1, data=9.0), device="NVIDIA H200"))
    assert "upper bound" in found.evidence
    assert "upper bound" not in said(ranks(rank(0), rank(1, data=9.0)))[0].evidence


def test_processes_without_a_number_are_named_by_pid():
    (found,) = said(ranks(rank(None), replace(rank(None, data=9.0), pid=7)))
    assert found.title.startswith("process 7 is late")


def test_the_phases_come_from_the_records(tmp_path):
    def record(number, data_bucket):
        phases = {"data": [[data_bucket, 90]], "forward": [[80, 90]], "after the step": [[0, 90]]}
        steps = {"steps": 100, "warmup": 10, "bucket": 0.02, "histogram": [[150, 90]], "phases": phases}
        group = {"backend": "gloo", "rank": number, "world": 2}
        path = write_run(
            tmp_path / f"{number}{SUFFIX}",
            {"record": "state", "key": "distributed", "value": group},
            {"record": "steps", **steps},
        )
        return read(path)

    found = evidence_of([record(0, 0), record(1, 130)])
    assert [(each.rank, each.group) for each in found.ranks] == [(0, 2), (1, 2)]
    assert found.ranks[1].alone_ms["data"] == pytest.approx(13.5, rel=0.02)
    assert [d.title.partition(" by ")[0] for d in said(found)] == ["rank 1 is late"]


def test_records_of_an_earlier_version_have_none(tmp_path):
    path = write_run(tmp_path / f"a{SUFFIX}", {"record": "steps", "steps": 20, "bucket": 0.02, "histogram": [[1, 10]]})
    (only,) = evidence_of([read(path)]).ranks
    assert (only.alone_ms, only.group) == ({}, None)


def test_a_rank_asleep_in_its_loader_is_found(tmp_path):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    watcher = ["-m", "torchperf_lint", "--runtime", "--events", f"late{SUFFIX}"]
    done = run([sys.executable, *launcher, *watcher, str(TRAIN / "late_rank.py")], tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = said(evidence_of([read(str(tmp_path / f"late.rank{n}{SUFFIX}")) for n in (0, 1)]))
    assert found.title.startswith("rank 1 is late by ")
    assert found.evidence.startswith("it waits for its data longer: data takes ")
    assert "TPL763" in done.stdout + done.stderr
