"""What Dynamo compiles, why again and where its graphs end: seen, and nothing of it changed."""

import json
import re
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from builders import watch
from watching import DRIVE, finish

from torchperf_lint.events import read

pytest.importorskip("torch")

SCRIPT = Path(__file__).with_name("compiles.py")
SOURCE = SCRIPT.read_text(encoding="utf-8").splitlines()
LOGS = {"TORCH_LOGS": "recompiles,graph_breaks", "OMP_NUM_THREADS": "1"}


def line_of(text):
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


def alone_and_watched(script, directory):
    """(status, output, errors) of a script alone and watched, and where the record lies."""
    events = directory / "run.events.jsonl"
    alone = [sys.executable, str(script)]
    watched = [sys.executable, str(DRIVE), str(events), str(directory / "result.json"), str(script)]
    with ThreadPoolExecutor(2) as pool:
        return *pool.map(lambda command: finish(command, directory, LOGS), (alone, watched)), events


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(status, output, errors) of the script alone and watched, and the record."""
    alone, watched, events = alone_and_watched(SCRIPT, tmp_path_factory.mktemp("compiled"))
    return SimpleNamespace(alone=alone, watched=watched, record=read(str(events)))


def found(runs, kind):
    """(what, line, attributes, times) of each event of a kind."""
    record = runs.record
    for number, event in record.events.items():
        if event["kind"] == kind:
            site = record.sites[event["site"]]
            yield event["what"], site["line"], event, record.counts[number]


def test_the_script_sees_what_it_sees_alone(runs):
    assert runs.watched[0] == 0
    assert runs.watched[:2] == runs.alone[:2]


def test_the_compilers_own_log_is_the_same_and_names_no_frame_of_ours(runs):
    alone, watched = (re.sub(rb"(?m)^[VWI]\d+ \S+ \d+ ", b"", errors) for _, _, errors in (runs.alone, runs.watched))
    assert b"Recompiling function forward" in alone
    assert b"Graph break" in alone
    assert watched == alone


def test_each_break_is_told_at_its_line(runs):
    breaks = {(what, line): event for what, line, event, _ in found(runs, "graph-break")}
    assert set(breaks) == {
        ("break", line_of('print("in between")')),
        ("frame", line_of('print("in a loop")')),
        ("break", line_of(".item()")),
    }
    assert "`print`" in breaks["break", line_of('print("in between")')]["explanation"]


def test_compilations_are_counted_by_function_and_outcome(runs):
    forward = line_of("def forward")
    counts = Counter()
    for what, line, _, count in found(runs, "compile"):
        counts[what, line] += count["n"]
    assert counts["first", forward] == 1
    assert counts["again", forward] == 2
    assert counts["limit", forward] == 1
    assert counts["first", line_of('print("in between")')] == 1
    assert counts["failed", line_of("def looping") - 1] == 1


def test_a_recompilation_names_its_guard_and_line_and_how_long_it_took(runs):
    ((event, count),) = [(event, count) for what, _, event, count in found(runs, "compile") if what == "again"]
    assert event["guard"] == "self.step == ..."
    assert event["at"][0].endswith("compiles.py")
    assert event["at"][1] == line_of("self.step += 1")
    assert event["last"] == line_of("return torch.tanh(x)")
    assert count["ms"] > 0


def test_the_rest_of_a_function_after_a_break_is_named_after_the_function(runs):
    resumed = {event["site"] for _, _, event, _ in found(runs, "compile") if event["resumed"]}
    assert {runs.record.sites[site]["function"] for site in resumed} <= {"forward", "inner", "whole"}
    assert resumed


def test_what_this_torch_can_tell_is_recorded(runs):
    assert runs.record.probes["compilation"]["state"] == "watching"
    assert runs.record.state["compilation"] == {"guards": True, "limits": True}


def test_an_optimizers_step_is_compiled_as_it_is_alone_and_counted(tmp_path):
    alone, watched, events = alone_and_watched(SCRIPT.with_name("compiles_steps.py"), tmp_path)
    assert watched[0] == 0, watched[2]
    assert watched[:2] == alone[:2]
    assert b"_getframe" not in watched[2]
    assert read(str(events)).steps["steps"] == 2 * 3


JUDGED = """\
import functools
import torch, torch._dynamo
from torch import nn

# Nothing here needs a C++ compiler.
setattr(torch, "compile", functools.partial(torch.compile, backend="eager"))

class Breaks(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        scale = self.layer(x).abs().max().item()
        return torch.tanh(self.layer(x) / scale)

class Captures(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.step = 0

    def forward(self, x):
        self.step += 1
        scale = self.layer(x).abs().max().item()
        return torch.tanh(self.layer(x) / scale)

first = torch.compile(Breaks())
second = torch.compile(Captures())
optimizer = torch.optim.SGD(first.parameters(), lr=0.1)
for settings in (False, True):
    for name in ("capture_" + "scalar_outputs", "allow_unspec_" + "int_on_nn_module"):
        setattr(torch._dynamo.config, name, settings)
    for _ in range(3):
        (second if settings else first)(torch.randn(2, 4)).sum().backward()
        optimizer.step()
"""


def test_findings_are_confirmed_and_refuted_live(tmp_path):
    report = tmp_path / "report.json"
    options = ("--isolated", "--output-format", "json", "--output-file", str(report))
    ran = watch(tmp_path, JUDGED, options=options)
    assert ran.returncode == 0, ran.err
    findings = json.loads(report.read_text(encoding="utf-8"))["findings"]
    found = [f for f in findings if f["code"] in ("TPL703", "TPL704")]
    judged = {(f["code"], f["verdict"]["outcome"]): f["verdict"]["reason"] for f in sorted(found, key=_line)}
    assert [(f["code"], f["verdict"]["outcome"]) for f in sorted(found, key=_line)] == [
        ("TPL704", "confirmed"),
        ("TPL703", "confirmed"),
        ("TPL704", "refuted"),
        ("TPL703", "refuted"),
    ]
    assert "does not support tracing `Tensor.item()`" in judged["TPL703", "confirmed"]
    assert judged["TPL704", "confirmed"] == "compiled again twice for `self.step == ...`"
    assert "no graph ended at this line" in judged["TPL703", "refuted"]
    assert judged["TPL704", "refuted"] == "compiled again once only for this value, in 6 steps"


def _line(finding):
    return finding["line"]
