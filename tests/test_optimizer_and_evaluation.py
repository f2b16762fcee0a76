"""What is said of an optimizer that takes the host's time (TPL915), and of evaluation that takes the run's (TPL918)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from runs import GPU, loader, report, run
from test_diagnose import evaluating

from torchperf_lint.recorded import Moment
from torchperf_lint.reporters import View, render_run, run_page
from torchperf_lint.runtime.diagnose import diagnose
from torchperf_lint.whole_run import division_said, loops_ms

OWN = {"class": "Slow", "module": "__main__", "step": {"path": "train.py", "line": 3, "last": 9}, "tensors": 400}
TORCH = {"class": "AdamW", "module": "torch.optim.adamw", "step": None, "tensors": 400, "devices": ["cpu"]}


def stepping(*optimizers, **changes):
    """The optimizers take 8 of a step's 20 ms."""
    known = [{"devices": ["cpu"], "switches": {}, **one} for one in optimizers]
    return run(**{"shares": {"optimizer": 0.4}, "state": {"optimizers": known}, **changes})


def only(evidence, code):
    (said,) = (d for d in diagnose(evidence).diagnoses if d.code == code)
    return said


def test_an_optimizer_of_the_project_is_told_by_its_numbers_and_its_place():
    said = only(stepping(OWN), "TPL915")
    assert said.title == "the optimizer's step takes 40 % of the step's time on the host"
    assert said.evidence == "8.00 ms a step, 20 us a tensor; Slow, 400 tensors on cpu; its step: train.py:3"
    assert said.advice.startswith(
        "where `Slow.step` at train.py:3 goes through parameters one by one, take torch's own"
    )
    assert said.actionable


def of_torch(name="AdamW", device="cpu", **switches):
    return {**TORCH, "class": name, "devices": [device], "switches": switches}


@pytest.mark.parametrize(
    ("optimizer", "advice"),
    [
        (of_torch(foreach=None, fused=None), "pass `fused=True` to AdamW (on the CPU since torch 2.4)"),
        (of_torch(device="cuda", foreach=False, fused=None), "pass `fused=True` to AdamW"),
        (of_torch(foreach=None, fused=True), "AdamW is fused already: only fewer steps (larger batches) or fewer "),
        (of_torch("NAdam", "cuda", foreach=False), "leave NAdam's `foreach` at its default, which is on for CUDA"),
        (of_torch("NAdam", foreach=None), "torch has no fused NAdam: take AdamW or SGD with `fused=True`"),
        ({**TORCH, "class": "Lion", "module": "lion_pytorch.lion"}, "see whether lion_pytorch has a fused Lion, or"),
        # Records of before the module was kept.
        ({"class": "Slow", "tensors": 400}, "where `Slow.step` goes through parameters one by one, take torch's own"),
        ({"class": "SGD", "tensors": 400, "switches": {"foreach": None, "fused": None}}, "pass `fused=True` to SGD"),
    ],
)
def test_the_advice_is_for_the_class_and_its_switches(optimizer, advice):
    said = only(stepping(optimizer), "TPL915")
    assert said.advice.startswith(advice)
    assert said.actionable is (optimizer.get("switches", {}).get("fused") is not True)


def test_of_two_kinds_nobody_says_what_a_tensor_costs():
    said = only(stepping(OWN, of_torch(foreach=None, fused=None)), "TPL915")
    assert " us a tensor" not in said.evidence
    assert "; Slow, 400 tensors on cpu; its step: train.py:3; AdamW (foreach=None, fused=None), 400 " in said.evidence
    assert len(said.advice.split("; ")) == 2
    assert " us a tensor" in only(stepping(OWN, OWN), "TPL915").evidence


def test_compute_on_the_cpu_stands_behind_a_cause_as_large_as_its_largest_phase():
    larger = {"shares": {"optimizer": 0.6, "forward": 0.4}}
    assert [d.code for d in diagnose(stepping(OWN, **larger)).diagnoses] == ["TPL915", "TPL910"]
    assert [d.code for d in diagnose(stepping(OWN)).diagnoses] == ["TPL910", "TPL915"]
    assert [d.code for d in diagnose(evaluating(9000.0)).diagnoses] == ["TPL918", "TPL910"]


def test_evaluation_is_told_by_its_passes():
    said = only(evaluating(1000.0, between_ms=200.0), "TPL918")
    assert said.title == "evaluation takes 31 % of the time after the warm-up, and training stands still"
    assert said.evidence == "5 passes of 200 ms each, about one every 20 steps; they count in no step's time"
    assert said.advice == "evaluate less often, or on less data, or in larger batches (the loop at train.py:40)"


def test_evaluation_that_waits_for_data_is_told_of_workers():
    said = only(evaluating(1000.0, data=0.5), "TPL918")
    assert said.evidence.endswith("; they wait for data 50 % of their own time")
    assert said.advice.endswith(", and give their loader workers that persist")


def test_a_training_loader_that_starts_anew_excuses_no_evaluation():
    training = loader(0.1, 2, epochs=5, start_ms=500.0, first_wait_ms=400.0)
    said = {d.code for d in diagnose(evaluating(1000.0, data=0.9, loaders=[training])).diagnoses}
    assert {"TPL905", "TPL918"} <= said


def test_shares_of_restarts_are_of_all_that_was_there():
    starting = {"epochs": 10, "start_ms": 1000.0, "first_wait_ms": 600.0}
    loaders = [loader(0.1, 2, **starting), loader(0.1, 2, batches=50, **starting)]
    evidence = evaluating(1500.0, data=0.9, loaders=loaders)
    # 22 ms of training are 20 ms for each of 110 steps; 50 batches of evaluation are all of its 1500 ms.
    assert loops_ms(evidence) == pytest.approx(2200.0 + 1500.0 + 2000.0)
    shares = [d.share for d in diagnose(evidence).diagnoses if d.code == "TPL905"]
    assert shares == pytest.approx([1599.0 / 5700.0] * 2)
    huge = [replace(one, first_wait_ms=50_000.0) for one in loaders]
    shares = [d.share for d in diagnose(replace(evidence, loaders=tuple(huge))).diagnoses if d.code == "TPL905"]
    assert sum(shares) == pytest.approx(1.0)


COURSE = (Moment(1002.0, 0, 0, 0, 0), Moment(1004.0, 3, 3, 0, 1), Moment(1009.0, 110, 110, 0, 1))
RAN = {"course": COURSE, "started": 1000.0, "wall_s": 9.6}


def test_a_line_says_how_the_whole_run_divides():
    divided = "the run took 10 s: about 4 s until the first step, then training 67 %, evaluation 33 % of the time"
    assert division_said(evaluating(1000.0, **RAN)) == divided
    assert divided in " ".join(render_run("full", report(evaluating(1000.0, **RAN)), View(width=80)).split())
    assert division_said(run(**RAN)) == "the run took 10 s: about 4 s until the first step"


@pytest.mark.parametrize(
    "changes",
    [{"started": None}, {"course": ()}, {"wall_s": None}, {"in_process": True}, {"simulated": True, "device": GPU}],
)
def test_what_the_record_does_not_tell_is_not_said(changes):
    assert division_said(run(**{**RAN, **changes})) is None


def test_the_page_says_how_the_run_divides_too():
    page = run_page(report(evaluating(1000.0, **RAN)), View())
    assert "then training 67 %, evaluation 33 % of the time." in page
    assert "until the first step" not in run_page(report(run()), View())
