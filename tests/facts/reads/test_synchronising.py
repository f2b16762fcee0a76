"""Which calls take a time, so that a wait before them is wanted."""

from __future__ import annotations

import time

import pytest

from torchperf_lint.facts.reads.synchronising import _takes_a_time
from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings


@pytest.mark.parametrize(
    ("callee", "takes"),
    [
        ("profiler.tick", True),
        ("self.step_profiler.start", True),
        ("stopwatch.lap", True),
        ("self.timer.toc", True),
        ("time.perf_counter", True),
        ("profiler.step", False),
        ("timer.setup", False),
        ("somestopwatch.lap", False),
        ("profiler", False),
    ],
)
def test_which_methods_take_a_time(callee, takes):
    assert _takes_a_time(callee) is takes


def test_a_long_name_is_searched_in_one_go():
    started = time.process_time()
    assert not _takes_a_time("_" * 20_000 + ".step")
    assert time.process_time() - started < 0.5


TRAINED = """\
import datetime
import time

import torch
from torch import nn

def print_eta(t0):
    print(time.time() - t0)

def note(text):
    print(datetime.datetime.now(), text)

def train(model: nn.Module, loader, optimizer, device):
    model.to(device)
    t0 = {before}
    def lap():
        print(time.time() - t0)
    for x, y in loader:
        loss = model(x.to(device, non_blocking=True)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.synchronize()
        {inside}
    {wait}
    {behind}
"""


def advice(tmp_path, before="time.time()", inside="pass", wait="pass", behind="print(time.time() - t0)"):
    """Severity, advice and whether there is a fix, of the one wait in a loop."""
    path = tmp_path / "train.py"
    path.write_text(TRAINED.format(before=before, inside=inside, wait=wait, behind=behind))
    report = lint(Target(tmp_path, Settings(select=("TPL115",)), (path,)))
    assert report.problems == ()
    (finding,) = report.findings
    return finding.severity.value, finding.instead.partition(":")[0], finding.fix is not None


def test_a_loop_that_is_timed_as_a_whole(tmp_path):
    behind = "a clock is read behind the loop"
    assert advice(tmp_path) == ("warning", behind, False)
    assert advice(tmp_path, behind="lap()") == ("warning", behind, False)
    assert advice(tmp_path, inside='note("step")') == ("warning", behind, False)


@pytest.mark.parametrize("inside", ["print_eta(t0)", "lap()", "print(time.time() - t0)"])
def test_a_clock_read_in_the_loop(tmp_path, inside):
    assert advice(tmp_path, inside=inside)[0::2] == ("info", False)


@pytest.mark.parametrize("behind", ['print("done", datetime.datetime.now())', 'note("done")', "pass"])
def test_a_time_of_day_behind_the_loop(tmp_path, behind):
    assert advice(tmp_path, before="0", behind=behind) == ("warning", "leave it out", True)


def test_a_loop_that_is_waited_for_already(tmp_path):
    assert advice(tmp_path, wait="torch.cuda.synchronize()") == ("warning", "leave it out", True)
    optional = advice(tmp_path, wait="if t0: torch.cuda.synchronize()")
    assert optional == ("warning", "a clock is read behind the loop", False)
    late = advice(tmp_path, behind="print(time.time() - t0)\n    torch.cuda.synchronize()")
    assert late == ("warning", "a clock is read behind the loop", False)
