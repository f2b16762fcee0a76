"""An optimizer that loops over its parameters, and an evaluation every few steps, in a run that is watched."""

import json

import pytest
from builders import watch

SCRIPT = """
import time
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Looping(torch.optim.Optimizer):
    def __init__(self, params):
        super().__init__(params, {"lr": 0.01, "beta": 0.9})

    @torch.no_grad()
    def step(self):
        time.sleep(0.006)
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["mean"] = torch.zeros_like(p)
                mean = state["mean"]
                mean.mul_(group["beta"]).add_(p.grad, alpha=1 - group["beta"])
                p.add_(mean, alpha=-group["lr"])

class Many(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(torch.rand(4)) for _ in range(50))

    def forward(self, x):
        time.sleep(0.004)
        return (x * torch.stack(list(self.weights)).sum(0)).sum()

@torch.no_grad()
def validate(model, loader):
    for (x,) in loader:
        model(x)

def train(model, loader, validation, optimizer):
    for number, (x,) in enumerate(loader, 1):
        optimizer.zero_grad()
        model(x).backward()
        optimizer.step()
        if number % 5 == 0:
            validate(model, validation)

model = Many()
data = TensorDataset(torch.rand(40, 4))
train(model, DataLoader(data, 1), DataLoader(data, 4), Looping(model.parameters()))
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    directory = tmp_path_factory.mktemp("live")
    options = ("--isolated", "--confidence", "possible", "--output-format", "json", "--output-file", "run.json")
    done = watch(directory, SCRIPT, options=options)
    assert done.returncode == 0, done.err
    return done, json.loads((directory / "run.json").read_text(encoding="utf-8"))


def test_the_optimizer_is_described_and_said(ran):
    done, told = ran
    (described,) = done.record.state["optimizers"]
    assert (described["module"], described["tensors"]) == ("__main__", 50)
    assert described["step"] == {"path": "run.py", "line": 11, "last": 21}
    said = next(d for d in told["runtime"]["diagnoses"] if d["code"] == "TPL915")
    assert "Looping, 50 tensors on cpu; its step: run.py:11" in said["evidence"]


def test_the_loop_in_its_step_is_confirmed_by_what_it_took(ran):
    (found,) = (finding for finding in ran[1]["findings"] if finding["code"] == "TPL604")
    assert found["verdict"]["outcome"] == "confirmed"
    assert found["verdict"]["blocked_ms_per_step"] >= 6.0


def test_evaluation_every_few_steps_is_said(ran):
    said = next(d for d in ran[1]["runtime"]["diagnoses"] if d["code"] == "TPL918")
    assert ", about one every 5 steps; " in said["evidence"] or ", about one every 4 steps; " in said["evidence"]
    assert "(the loop at run.py:" in said["advice"]
