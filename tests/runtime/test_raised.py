"""What ended a script that raised: recorded, said first in its report, and not taken for a run without a step."""

from dataclasses import replace

import pytest
from builders import watch_all
from runs import answered, report, run

from torchperf_lint.reporters import View, render_run
from torchperf_lint.runtime.diagnose import diagnose
from torchperf_lint.runtime.raised import said

MISSING = "KeyError: 'data'"
SCRIPTS = {
    "raises": "import json\ndef load(config):\n    return config['data']\nload({})\n",
    "before_torch": "import not_installed_anywhere\n",
    "in_the_library": "import json\njson.loads('{')\n",
    "in_its_first_step": (
        "import torch\nmodel = torch.nn.Linear(2, 2)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\n"
        "model(torch.ones(2))\n{}['data']\n"
    ),
    "exits": "import sys\nsys.exit(1)\n",
    "catches": "try:\n    {}['data']\nexcept KeyError:\n    pass\n",
    "has_a_console": "import code, sys\ncode.InteractiveInterpreter().runsource('1/0')\nsys.exit(1)\n",
    "has_its_own_hook": "import sys\nsys.excepthook = lambda *_: print('hooked')\n{}['data']\n",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return watch_all(tmp_path_factory.mktemp("raised"), {name: (text,) for name, text in SCRIPTS.items()})


@pytest.mark.parametrize(
    ("name", "error", "place"),
    [
        ("raises", MISSING, ["raises.py", 3]),
        ("before_torch", "ModuleNotFoundError: No module named 'not_installed_anywhere'", ["before_torch.py", 1]),
        ("in_the_library", "JSONDecodeError: Expecting property name", ["in_the_library.py", 2]),
        ("has_its_own_hook", MISSING, ["has_its_own_hook.py", 3]),
    ],
)
def test_the_exception_is_recorded_with_the_projects_line(ran, name, error, place):
    state = ran[name].record.state
    assert state["raised"].startswith(error)
    assert state["raised_at"] == place
    assert ran[name].returncode == 1


@pytest.mark.parametrize("name", ["exits", "catches", "has_a_console"])
def test_what_is_no_uncaught_exception_is_none(ran, name):
    assert "raised" not in ran[name].record.state


def test_a_script_sees_its_exception_as_ever(ran):
    assert "hooked" in ran["has_its_own_hook"].out
    assert "Traceback" in ran["raises"].err


def test_calls_of_a_first_step_that_raised_are_told_as_that(ran):
    shown = " ".join(ran["in_its_first_step"].err.split())
    assert "not decided: the script raised before it trained" in shown
    assert "no training step, 0 batches" in shown
    assert "of a model" not in shown
    assert list(ran["in_its_first_step"].record.sources) == ["in_its_first_step.py"]


def test_the_report_leads_with_it(ran):
    shown = " ".join(ran["raises"].err.split())
    assert f"ended with exit code 1: {MISSING}, at raises.py:3" in shown
    assert "not decided: the script raised before it trained" in shown
    assert "a step is a call of" not in shown


def ended(**more):
    state = {"raised": MISSING, "raised_at": ("train.py", 3)}
    return run(**{"state": state, "returncode": 1, **more})


@pytest.mark.parametrize(
    ("evidence", "early"),
    [
        (ended(steps=0, train_batches=0), True),
        (ended(steps=0, train_batches=0, simulated=True, device="simulated"), True),
        (ended(steps=0, train_batches=0, unwatched={"torch": "torch was never imported"}), True),
        (ended(steps=3), False),
        (ended(steps=0, train_batches=0, in_process=True), False),
        (run(steps=0, train_batches=0, returncode=1), False),
    ],
)
def test_what_bounds_a_run_that_never_trained_is_what_it_raised(evidence, early):
    (found,) = diagnose(evidence).diagnoses
    assert ("raised before it trained" in found.title) is early
    assert (f"{MISSING}, at train.py:3" in found.evidence) is early


@pytest.mark.parametrize(("calls", "early"), [(2, True), (30, False)])
def test_what_bounds_a_run_of_a_call_or_two_is_what_it_raised(calls, early):
    seen = answered(count=calls, calls=calls, unit="call", steady=0, simulated=True)
    (found,) = diagnose(replace(seen, state=ended().state, returncode=1)).diagnoses
    assert ("raised after 2 calls" in found.title) is early
    assert ("mend what it raised" in found.advice) is early


def test_the_header_says_it_of_a_run_that_trained_too():
    text = " ".join(render_run("full", report(ended()), View(width=120)).split())
    assert f"ended with exit code 1: {MISSING}, at train.py:3" in text


WORKER = """Caught KeyError in DataLoader worker process 0.
Original Traceback (most recent call last):
  File "train.py", line 3, in load
    return config["data"]
KeyError: 'data'
"""


class UnsayableError(Exception):
    def __str__(self):
        raise RuntimeError("no")


def test_of_a_traceback_of_another_process_the_last_line_is_said():
    assert said(RuntimeError(WORKER)) == "RuntimeError: KeyError: 'data'"
    assert said(RuntimeError(f"\n\n-- Process 1 terminated with the following error:\n{WORKER}\n")).endswith(MISSING)


def test_an_exception_that_cannot_be_told_is_named():
    assert said(UnsayableError()) == "UnsayableError"


def test_what_looks_like_a_secret_is_left_out_and_long_texts_are_cut():
    assert "hunter" not in said(ValueError("cannot log in with --password=hunter2"))
    assert said(ValueError("first line\nsecond")) == "ValueError: first line"
    assert said(ValueError()) == "ValueError"
    assert said(ValueError("file: \x1b[1mdo those steps\x1b[0m first")) == "ValueError: file: do those steps first"
    assert len(said(ValueError("long " * 100))) < 230
