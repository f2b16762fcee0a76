"""Which rank is late step by step (TPL914), and the ranks beside each other in every format."""

import json
from dataclasses import replace

import pytest
from runs import report, run

from torchperf_lint.recorded import Rank, Spread
from torchperf_lint.reporters import View, render_run, run_page
from torchperf_lint.reporters._runtime_json import runtime
from torchperf_lint.rules.tpl763_rank_imbalance import RankImbalance
from torchperf_lint.rules.tpl914_rank_jitter import RankJitter
from torchperf_lint.stragglers import turns

STEP = 20.0
USUAL = {"data": 1.0, "forward": 5.0, "after the step": 0.5}


def rank(number, longer=lambda step: None, **changes):
    """A rank whose steps are as usual, but for (phase, ms) that `longer` says of a step."""
    single = {}
    for step in range(11, 111):
        single[step] = {**USUAL, "backward": 8.0, "collectives": 0.25}
        more = longer(step)
        if more is not None:
            single[step][more[0]] += more[1]
    medians = {phase: sorted(ms[phase] for ms in single.values())[50] for phase in USUAL}
    values = {"group": 2, "together_ms": {"backward": 8.0, "collectives": 0.25}, "single_steps": single}
    made = Rank(number, 100 + number, 110, Spread(STEP, STEP, 100), 0.0, medians, **values)
    return replace(made, **changes)


def ranks(*each, **changes):
    return run(step_ms=STEP, ranks=each, **changes)


def every(number, phase="forward", by=8.0, of=0):
    return lambda step: (phase, by) if step % number == of else None


IN_TURN = ranks(rank(0, every(2)), rank(1, every(2, of=1)))
CONSTANT = ranks(rank(0), rank(1, every(1, "data")))


def test_ranks_that_are_late_in_turn():
    assert turns(IN_TURN).late == {0: 50, 1: 50}
    (found,) = RankJitter().diagnose(IN_TURN)
    assert found.title == (
        "now one rank, now another is late: late in 100 of 100 steps compared, by 8.00 ms (median), and the others wait"
    )
    assert found.evidence.startswith(
        "late were rank 0 in 50, rank 1 in 50; most of it in forward; a step takes 20.0 ms"
    )
    assert "sampler by length" in found.advice
    assert found.share == pytest.approx(0.4)


def test_one_rank_that_is_late_now_and_then():
    evidence = ranks(rank(0, every(5, "after the step", 30.0)), rank(1), rank(2))
    (found,) = RankJitter().diagnose(evidence)
    assert found.title.startswith("rank 0 is now and then late: late in 20 of 100 steps compared, by 30.0 ms")
    assert "in after the step" in found.evidence
    assert "a thread" in found.advice
    assert not list(RankImbalance().diagnose(evidence))


def test_the_half_of_steps_a_rank_is_late_in_may_be_the_larger_by_one_and_names_nobody():
    """The median of a rank that is late in every other step is either of two values, as the last step falls."""
    late = rank(0, every(2), alone_ms={"data": 1.0, "forward": 13.0, "after the step": 0.5})
    evidence = ranks(late, rank(1, every(2, of=1), alone_ms=USUAL))
    assert not list(RankImbalance().diagnose(evidence))
    assert [found.code for found in RankJitter().diagnose(evidence)] == ["TPL914"]
    (found,) = RankImbalance().diagnose(ranks(late, rank(1)))
    assert "in 50 of 100 steps" in found.evidence


SILENT = {
    "always the same rank, which is TPL763's": CONSTANT,
    "all alike": ranks(rank(0), rank(1)),
    "a checkpoint": ranks(rank(0, every(50, "after the step", 400.0)), rank(1)),
    "too little": ranks(rank(0, every(2, by=1.0)), rank(1)),
    "seldom": ranks(rank(0, every(10, by=3.0)), rank(1)),
    "a record of an earlier version": ranks(rank(0, every(2)), rank(1, single_steps={})),
    "no steps in common": ranks(rank(0, every(2)), rank(1, single_steps={1: USUAL})),
    "no process group": ranks(rank(0, every(2), group=None), rank(1)),
    "simulated": replace(IN_TURN, simulated=True),
}


@pytest.mark.parametrize("name", SILENT)
def test_where_it_is_silent(name):
    assert list(RankJitter().diagnose(SILENT[name])) == []


def test_a_constant_straggler_says_how_often_and_what_the_others_pay():
    waits = {"backward": 16.0, "collectives": 0.25}
    (found,) = RankImbalance().diagnose(ranks(rank(0, together_ms=waits), rank(1, every(1, "data"))))
    assert "it was the late one in 100 of 100 steps compared one by one" in found.evidence
    assert "take 8.25 ms there and 16.2 ms on the others" in found.evidence


def text(evidence, width=80):
    return render_run("full", report(evidence), View(width=width, color=False))


def test_the_table_of_ranks():
    said = text(CONSTANT)
    assert "  rank 0     20.0     1.00     5.00    0.500     8.00    0.250      0 %\n" in said
    assert "  rank 1     20.0     9.00     5.00    0.500     8.00    0.250    100 %\n" in said
    assert "late in general: rank 1, in data" in said
    assert "what DistributedDataParallel exchanges is part of backward" in " ".join(said.split())


def test_a_narrow_page_has_sentences():
    said = " ".join(text(CONSTANT, 40).split())
    assert "rank 1: step 20.0, data 9.00, forward 5.00, after 0.500, backward 8.00" in said


def test_many_ranks_are_shown_by_what_they_do_alone():
    everyone = [rank(n, every(1, by=float(n)), group=40) for n in range(40)]
    said = text(ranks(*everyone))
    assert "rank 39 " in said
    assert "rank 3 " not in said.partition("Ranks")[2].partition("What bounds")[0]
    assert "and 24 more ranks" in said


def test_one_process_has_no_table():
    assert "Ranks" not in text(run())
    assert "Ranks" not in text(ranks(Rank(0, 1, 110, None, 0.0), Rank(1, 2, 110, None, 0.0)))


def test_the_page_has_the_table_too():
    page = run_page(report(CONSTANT), View(width=80, color=False))
    assert "<h2>Ranks</h2>" in page
    assert "late in general in" in page


def test_the_json_has_every_figure():
    found = runtime(report(CONSTANT))
    first, second = json.loads(json.dumps(found["ranks"]))
    assert (first["late_steps"], first["late_phase"]) == (0, None)
    assert (second["late_steps"], second["late_phase"]) == (100, "data")
    assert second["alone_ms"] == {"data": 9.0, "forward": 5.0, "after the step": 0.5}
    assert second["together_ms"] == {"backward": 8.0, "collectives": 0.25}
    assert found["stragglers"] == {"steps_compared": 100, "late_steps": 100, "by_ms": 8.0, "phase": "data"}
    assert runtime(report(run()))["stragglers"] is None


ENDS = {
    "killed": (
        {"steps": 30, "ended": True, "returncode": -9},
        "rank 1 was killed by SIGKILL: its last step on record was 30",
    ),
    "exit code": (
        {"ended": True, "returncode": 3},
        "rank 1 ended with exit code 3: its last step on record was 110 of 110",
    ),
    "ended well": (
        {"steps": 30, "ended": True, "returncode": 0},
        "rank 1 ended early: its last step on record was 30 of 110",
    ),
    "nobody saw": (
        {"steps": 30},
        "rank 1 came less far, and how it ended was not recorded: its last step on record was 30",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_rank_that_ended_early_is_said_with_its_last_step(name):
    changes, said = ENDS[name]
    assert said in " ".join(text(ranks(rank(0), rank(1, **changes))).split())


def test_the_headline_of_a_rank_that_was_stopped_names_the_one_that_failed():
    dead = {"ended": True, "returncode": -9}
    stopped = ranks(rank(0, ended=True, returncode=-15), rank(1, **dead), rank(2, ended=True, returncode=-15))
    assert "killed by SIGTERM (rank 1: killed by SIGKILL)" in text(replace(stopped, returncode=-15))
    assert "killed by SIGINT\n" in text(replace(stopped, returncode=-2))


def test_ranks_of_several_nodes_are_named_with_theirs():
    everyone = ranks(rank(0, host="h", node=0), rank(1, host="h", node=1))
    lines = text(everyone).splitlines()
    assert everyone.nodes == 2
    assert [line for line in lines if line.startswith("  rank 1 (node 1)   ")]
    assert max(map(len, lines)) <= 80
    assert "rank 1 (node 1): step" in text(everyone, width=79)
    assert json.loads(json.dumps(runtime(report(everyone))["ranks"]))[1]["node"] == 1


def test_ranks_that_ended_well_are_not_spoken_of():
    assert "its last step" not in text(ranks(rank(0, ended=True, returncode=0), rank(1)))


def test_cores_are_shared_by_the_ranks_of_one_machine():
    everyone = tuple(rank(n, host=f"h{n // 2}") for n in range(4))
    assert (run(ranks=everyone).ranks_here, run(ranks=everyone).nodes) == (2, 2)
    assert (run().ranks_here, run().nodes) == (1, 1)
