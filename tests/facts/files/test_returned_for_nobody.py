"""Functions whose result nobody reads."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.call_graph.index import FunctionKey
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.returned_for_nobody import works_for_nobody

SCALER = """\
import torch


class Scaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, parameters, clip=None):
        self._scaler.scale(loss).backward()
        self._scaler.unscale_(optimizer)
        if clip is not None:
            norm = torch.nn.utils.clip_grad_norm_(parameters, clip)
        else:
            norm = norm_of(parameters)
        self._scaler.step(optimizer)
        self._scaler.update()
        return norm


def norm_of(parameters):
    \"\"\"Of all gradients.\"\"\"
    parameters = [p for p in parameters if p.grad is not None]
    if not parameters:
        return torch.tensor(0.0)
    {does}
    return torch.stack([p.grad.norm() for p in parameters]).norm()
"""
TRAINS = """\
from scaler import Scaler{also}


def train(model, loader, optimizer, scaler):
    for x in loader:
        {takes}scaler(model(x), optimizer, model.parameters())
        {then}


def main(model, loader, optimizer):
    train(model, loader, optimizer, Scaler())
"""


@pytest.mark.parametrize(
    ("takes", "then", "does", "also", "expected"),
    [
        ("", "optimizer.zero_grad()", "pass", "", True),
        ("norm = ", "optimizer.zero_grad()", "pass", "", True),
        ("norm = ", "print(norm)", "pass", "", False),
        ("norm, _ = ", "optimizer.zero_grad()", "pass", "", False),
        ("", "print(norm_of(model.parameters()))", "pass", ", norm_of", False),
        ("", "loader.watch(norm_of)", "pass", ", norm_of", False),
        ("", "optimizer.zero_grad()", "print(len(parameters))", "", False),
        ("", "optimizer.zero_grad()", "parameters[0].grad = None", "", False),
    ],
)
def test_what_all_callers_leave_is_computed_for_nobody(takes, then, does, also, expected):
    files = {"scaler.py": SCALER.format(does=does), "train.py": TRAINS.format(takes=takes, then=then, also=also)}
    assert works(files) is expected


def test_a_call_of_an_object_of_that_name_may_be_one_that_reads():
    files = {
        "scaler.py": SCALER.format(does="pass"),
        "train.py": TRAINS.format(takes="", then="pass", also=""),
        "other.py": "def step(scaler, loss, optimizer, net):\n    return scaler(loss, optimizer, net.parameters())\n",
    }
    assert not works(files)


def test_nobody_in_sight_may_be_somebody_else():
    assert not works({"scaler.py": SCALER.format(does="pass")})


def works(files):
    project = Project.of_texts(files)
    functions = project.index.outlines["scaler.py"].functions
    (number,) = (n for n, f in enumerate(functions) if f.name == "norm_of")
    return works_for_nobody(project, FunctionKey("scaler.py", number))
