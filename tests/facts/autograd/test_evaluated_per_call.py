"""Functions that evaluate one batch a call while autograd records."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_per_call import evaluated_per_call
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

CODE = """
class Engine:
    def __init__(self, net: nn.Module, loss):
        self.model, self.loss = net, loss

    {decorator}
    def train(self, x, y):
        self.model.train()
        loss = self.loss(self.model(x), y)
        loss.backward()
        self.optimizer.step()

    {decorator}
    def check(self, x, y):
        {check}

def run(engine: Engine, data):
    loader, val_loader = DataLoader(data), DataLoader(data)
    for x, y in loader:
        engine.train(x, y)
    {validate}
"""
CHECK = """self.model.eval()
        output = self.model(x)
        return self.loss(output, y).item()"""
VALIDATE = """losses = []
    for x, y in val_loader:
        losses.append(engine.check(x, y))"""


def models(check=CHECK, validate=VALIDATE, decorator=""):
    code = CODE.replace("{check}", check).replace("{validate}", validate).replace("    {decorator}\n", "", 1)
    files = texts(code.replace("    {decorator}\n", f"    {decorator}\n" if decorator else ""))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [found.model for found in evaluated_per_call(file)]


def test_a_method_that_a_loop_of_evaluation_calls_with_every_batch():
    assert models() == ["self.model"]


@pytest.mark.parametrize(
    "check",
    [
        CHECK.replace("output = self.model(x)", "with torch.no_grad():\n            output = self.model(x)"),
        CHECK.replace("output = self.model(x)", "output = self.model(x.requires_grad_())"),
        CHECK.replace("output = self.model(x)", "self.model.train()\n        output = self.model(x)"),
        CHECK.replace("output = self.model(x)", "output = self.other(x)"),
        CHECK.replace("return ", "return torch.autograd.grad(output.sum(), x), "),
    ],
)
def test_gradients_that_are_off_or_asked_for_or_another_mode(check):
    assert models(check) == []


@pytest.mark.parametrize(
    "validate",
    [
        "engine.check(x, y)",
        "with torch.no_grad():\n        for x, y in val_loader:\n            engine.check(x, y)",
        "for x, y in val_loader:\n        loss = engine.check(x, y)\n        loss.backward()",
    ],
)
def test_what_no_evaluation_repeats_with_gradients(validate):
    assert models(CHECK.replace(".item()", ""), validate) == []


def test_a_decorator_switches_them_off():
    assert models(decorator="@torch.no_grad()") == []
