"""Backward passes for the gradient of an input: those of the parameters are computed as well."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.autograd.input_gradients import for_an_input
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HEAD = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Linear(8, 8)

    def forward(self, x):
        return self.layers(x)
"""
ATTACK = """
def perturbed(model, x, y, steps):
    x = x.detach().clone()
    for _ in range(steps):
        x.requires_grad_(True)
        loss = nn.functional.cross_entropy(model(x), y)
        {pass_}
        x = (x + 0.01 * x.grad.sign()).detach()
    {then}
    return x
"""
TRAIN = """
def train(loader):
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters())
    for x, y in loader:
        {before}
        x = perturbed(net, x, y, 10)
        {after}
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""
PAINT = """
def paint(picture, wanted):
    target = picture.clone().requires_grad_(True)
    optimizer = torch.optim.Adam([{updated}], lr=0.01)
    model = Net().cuda().eval()
    for _ in range(500):
        loss = 0
        for one, other in zip(model(target), wanted):
            loss += nn.functional.mse_loss(one, other)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def found(text):
    text = HEAD + text
    return [(f.model, f.wanted) for f in for_an_input(SourceFile(Project.of_texts({"a.py": text}), "a.py", text))]


@pytest.mark.parametrize(
    ("pass_", "then", "before", "after", "expected"),
    [
        ("loss.backward()", "pass", "pass", "optimizer.zero_grad()", [("model", "x")]),
        ("loss.backward()", "model.zero_grad()", "pass", "pass", [("model", "x")]),
        ("loss.backward()", "pass", "optimizer.zero_grad()", "pass", []),
        ("loss.backward(inputs=[x])", "pass", "pass", "optimizer.zero_grad()", []),
        ("loss.backward(y)", "pass", "pass", "optimizer.zero_grad()", []),
        ("loss.backward(); optimizer.step()", "pass", "pass", "optimizer.zero_grad()", []),
        ("loss.backward(); log(model.bias.grad)", "pass", "pass", "optimizer.zero_grad()", []),
        ("model.requires_grad_(False); loss.backward()", "pass", "pass", "optimizer.zero_grad()", []),
    ],
)
def test_an_attack_wants_the_gradient_of_its_input(pass_, then, before, after, expected):
    text = ATTACK.format(pass_=pass_, then=then) + TRAIN.format(before=before, after=after)
    assert found(text) == expected


@pytest.mark.parametrize(
    ("updated", "expected"), [("target", [("model", "target")]), ("target, *model.parameters()", []), ("bias", [])]
)
def test_an_optimizer_of_a_picture_wants_that_of_the_picture(updated, expected):
    assert found(PAINT.format(updated=updated)) == expected


def test_what_has_no_parameters_computes_no_gradients_of_them():
    assert found(ATTACK.format(pass_="loss = nn.ReLU()(x).sum(); loss.backward()", then="pass")) == []
