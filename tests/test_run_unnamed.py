"""Lines that no finding names: the project's own first, those of packages by who calls them, bursts apart."""

from dataclasses import replace

import pytest
from runs import STEPS, copy, finding, report, run, sync

from torchperf_lint.reporters import View, render_run, run_page
from torchperf_lint.waits import GRADIENT

ODE = "/venv/lib/python3.12/site-packages/odes/{}.py"


def shown(made, width=120):
    return " ".join(render_run("full", made, View(width=width)).split())


def inside(line, via=("train.py", 33), module="step", **changes):
    return sync(line, path=ODE.format(module), via=via, **changes)


def told(*events, findings=(), unfound=None, **changes):
    evidence = run(events=events, device="simulated", simulated=True, **changes)
    return report(evidence, findings, unfound=events if unfound is None else unfound)


def test_own_lines_come_first_and_a_package_is_one_entry_for_each_line_that_calls_it():
    packaged = [inside(line, per_step=5) for line in range(100, 130)]
    text = shown(told(*packaged, inside(7, ("train.py", 40)), sync(31)))
    own = text.index("train.py:31: synchronisation (item), 1 a step")
    called = text.index("called from train.py:33, 30 lines of package odes: synchronisation (item), 150 a step, most")
    one = text.index("in package odes/step.py:7, called from train.py:40: synchronisation (item), 1 a step")
    assert called < text.index("Other waits and copies of every step that no finding names") < own < one
    assert text.count("30 lines of package odes") == 1
    assert "more line" not in text


def test_a_package_that_computes_its_gradient_itself_is_told_once_with_the_sum_of_both():
    text = shown(told(inside(56, per_step=8), inside(56, None, per_step=8)))
    assert "in package odes/step.py:56, called from train.py:33: synchronisation (item), 16 a step" in text
    assert text.count("step.py:56") == 1


def test_of_several_callers_the_one_that_calls_most_has_the_gradient():
    text = shown(told(inside(56), inside(56, ("train.py", 40), per_step=3), inside(56, None, per_step=4)))
    assert "called from train.py:40: synchronisation (item), 7 a step" in text
    assert "called from train.py:33: synchronisation (item), 1 a step" in text


def test_what_no_line_of_the_script_is_known_to_call_is_an_entry_of_its_package():
    lone = [inside(line, None) for line in (1, 2)]
    other = sync(9, path="/venv/site-packages/metrics/mean.py")
    text = shown(told(*lone, other))
    assert "called from no line of the script, 2 lines of package odes: synchronisation (item), 2 a step" in text
    assert "in package metrics/mean.py:9, called from no line of the script" in text


def test_a_library_that_is_not_installed_is_no_line_of_the_project():
    beside = "/home/me/lib/nets/net.py"
    text = shown(told(sync(5, path=beside, via=("train.py", 33)), sync(6, path=beside), sync(31)))
    assert text.index("train.py:31") < text.index("net.py:5") < text.index("net.py:6, called from no line")


def test_a_backward_pass_says_in_whose_gradient_it_waits():
    of = [sync(25, attributes={GRADIENT: name}) for name in ("cumprod", "prod")]
    text = shown(told(*of, sync(25, "nonzero")))
    assert (
        "train.py:25: synchronisation (nonzero), synchronisation (item) in the gradients of `cumprod` and `prod`, 3 a "
        "step" in text
    )


RARE = {"train_turns": 2, "train_steps": 2, "over_steps": 60, "first_step": 20}


def burst(line, count, **changes):
    return sync(line, **{"count": count, "trained": count, "evaluated": 0, **RARE, **changes})


OUTSIDE = {"train_turns": 0, "train_steps": 0, "trained": None, "evaluated": None}


def test_a_fifth_of_the_waits_is_no_small_part_and_reads_outside_of_loops_are_told():
    assert "20 % of the run's waits come in bursts" in shown(told(sync(25), burst(60, 27), unfound=()))
    read = burst(60, 900, **OUTSIDE)
    assert "900 outside of every loop" in shown(told(sync(25), read, copy(60, what="d2h", **OUTSIDE), unfound=()))


def test_most_waits_of_the_run_are_told_where_they_come_in_bursts():
    evaluated = {"train_turns": 0, "train_steps": 0, "trained": 0, "eval_turns": 2, "evaluated": 200, "eval_of": 8}
    seen = [sync(25), burst(60, 600), burst(61, 400), burst(62, 300), burst(63, 200, **evaluated), burst(64, 20)]
    made = told(*seen, findings=[finding(25)], unfound=(), eval_batches=8)
    text = shown(made)
    heading = "80 % of the run's waits come in bursts, not in every step, at lines that no finding names"
    assert f"{heading} train.py:60: synchronisation (item), 600 in 2 of 110 steps train.py:61" in text
    assert "train.py:63" not in text
    assert "waits come in bursts" in run_page(made, View())
    in_evaluation = shown(told(sync(25), seen[4], unfound=(), eval_batches=8))
    assert "train.py:63: synchronisation (item), 200 in 2 of 8 evaluation batches" in in_evaluation


@pytest.mark.parametrize(
    "rare",
    [
        [burst(60, 15)],  # a small part
        [burst(60, 900), finding(60)],  # named by a finding
        [burst(60, 900, train_turns=0, train_steps=0, what="copy"), copy(60, train_turns=0)],  # the model is moved
        [burst(60, 900, **OUTSIDE, what="copy"), copy(60, what="d2h", **OUTSIDE)],  # it is saved
        [burst(60, 27, what="copy"), copy(60, what="d2h", **RARE)],  # a checkpoint in one of few steps
        [burst(60, 900, train_turns=1, train_steps=1, over_steps=1, first_step=1)],  # of the first step
    ],
)
def test_what_is_no_burst(rare):
    findings = [finding(25), *(one for one in rare if not hasattr(one, "kind"))]
    seen = [one for one in rare if hasattr(one, "kind")]
    assert "in bursts" not in shown(told(sync(25), *seen, findings=findings, unfound=()))


def test_what_a_step_waits_for_is_told_apart_from_checkpoints_and_evaluation():
    exact = {"trained": STEPS, "train_steps": STEPS, "evaluated": 0}
    in_steps, in_evaluation = sync(25, **exact), sync(30, count=40, train_turns=0, eval_turns=10, evaluated=40)
    saved = burst(50, 1000, what="copy")
    moved = sync(5, "copy", count=8, train_turns=0)
    text = shown(told(in_steps, in_evaluation, saved, moved, eval_batches=10))
    assert "1158 synchronisations at 4 lines: 1 a step, 40 in evaluation, 1008 in some steps or outside of them" in text
    assert "synchronisations at 1 line, all in some steps or outside of them" in shown(told(saved))
    assert "110 synchronisations at 1 line, 1 a step;" in shown(told(in_steps))


def test_a_line_with_several_kinds_of_waits_is_of_every_step_as_a_whole():
    kinds = [sync(25), sync(25, "nonzero", count=44, train_turns=44, trained=44)]
    assert "154 synchronisations at 1 line, 1.4 a step" in shown(told(*kinds))


def first_of(made):
    text = shown(made, width=100)
    return text.partition("first ")[2].partition(" finding: ")[0].partition(" findings: ")[0]


def test_what_waits_most_is_told_first_though_no_finding_names_it():
    text = first_of(told(sync(25), sync(40, per_step=48), findings=(finding(25),), unfound=(sync(40, per_step=48),)))
    assert text.startswith("1. train.py:40: synchronisation (item), 48 a step (no finding names it)")
    assert "what the host reads one value of the device" in text
    assert "2. train.py:25:18 TPL101" in text


def test_a_finding_that_waits_more_stands_before_it_and_a_small_part_nowhere():
    more, some, little = sync(25, per_step=60), sync(40, per_step=40), sync(41, per_step=2)
    named = finding(25, times=60.0, times_per="step")
    text = first_of(told(more, some, little, findings=(named,), unfound=(some, little)))
    assert text.startswith("1. train.py:25:18 TPL101")
    assert "2. train.py:40: synchronisation (item), 40 a step" in text
    assert "train.py:41" not in text


@pytest.mark.parametrize("events", [[copy(40, per_step=9)], [sync(40, per_step=9, attributes={GRADIENT: "index"})]])
def test_what_nothing_waits_for_and_what_follows_from_other_lines_is_not_told_first(events):
    text = shown(told(*events, sync(25), unfound=events))
    assert "Do this first" not in text
    assert "train.py:40: " in text


def test_of_a_package_the_line_that_calls_it_is_shown():
    packaged = [inside(line, per_step=5) for line in (100, 101)]
    made = told(*packaged, unfound=packaged)
    text = render_run("full", made, View(width=100, texts={"train.py": "\n" * 32 + "  solve(model)\n"}))
    assert "33 |   solve(model)\n        |   ^^^^^^^^^^^^\n" in text
    assert "train.py:33, 2 lines of package odes: synchronisation (item), 10 a step" in " ".join(text.split())


def test_where_times_were_measured_they_rank_it_and_what_costs_nothing_is_left_out():
    cheap, dear = sync(40, per_step=50, blocked_ms=0.001), sync(41, blocked_ms=9.0)
    evidence = run(events=(cheap, dear), step_ms=20.0, shares={"waiting_for_the_device": 0.5})
    text = first_of(report(evidence, unfound=(cheap, dear)))
    assert text.partition("train.py")[2].startswith(":41: synchronisation (item), 1 a step, blocked ")
    assert "train.py:40: synchronisation (item), 50 a step (no finding" not in " ".join(text.split())


def test_on_the_page_it_stands_first_too():
    made = told(sync(40, per_step=48))
    assert "48 a step (no finding names it)" in run_page(made, View(width=100))


@pytest.mark.parametrize(("blocking", "way"), [(False, "copy to the device, not waited for"), (True, "copy to the")])
def test_what_waits_in_evaluation_alone_is_not_said_of_a_step(blocking, way):
    there = {"train_turns": 0, "train_steps": 0, "trained": None, "eval_turns": 5, "evaluated": 10, "count": 10}
    trained = copy(40, attributes={"blocking": blocking}, trained=STEPS, train_steps=STEPS)
    evaluated = replace(copy(40, attributes={"blocking": True}), **there), replace(sync(40, "copy"), **there)
    text = shown(told(trained, *evaluated, eval_batches=5))
    assert f"train.py:40: {way}" in text
    assert "1 a step; copy to the device and synchronisation (copy), 2 an evaluation batch" in text


def test_a_file_that_is_not_installed_is_no_package():
    via = ("train.py", 33)
    text = shown(told(sync(7, path="/srv/lib/utils.py", via=via), sync(8, path="/srv/lib/utils.py", via=via)))
    assert "called from train.py:33, 2 lines of folder lib: synchronisation" in text
    text = shown(told(sync(7, path="/srv/lib/utils.py", via=via)))
    assert "in /srv/lib/utils.py:7, called from train.py:33" in text
    assert "package" not in text
