"""Models that are evaluated in a training function."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.evaluated_in_training import evaluated_in_training
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

FLAG = """\
def step(model: nn.Module, x, y, optimizer, criterion, train):
    if train:
        {first}
    else:
        model.eval()
    {forward}
    {guard}:
        loss.backward()
        optimizer.step()

def run(model: nn.Module, loader, optimizer, criterion, train):
    for x, y in loader:
        step(model, x, y, optimizer, criterion, train)
"""
AFTER = """\
def step(model: nn.Module, x, y, optimizer, criterion):
    criterion(model(x), y).backward()
    optimizer.step()
    {then}

def run(model: nn.Module, loader, optimizer, criterion):
    for x, y in loader:
        step(model, x, y, optimizer, criterion)
"""


def _found(text: str) -> list[str]:
    files = texts(text)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [found.flag for found in evaluated_in_training(file)]


@pytest.mark.parametrize(
    ("first", "forward", "guard", "expected"),
    [
        ("model.train()", "loss = criterion(model(x), y)", "if train", ["train"]),
        ("model.train()", "loss = criterion(model(x), y)", "if train and x is not None", ["train"]),
        ("model.train()", "loss = criterion(model(x), y)", "if x is not None", []),
        ("model.train()", "loss = criterion(model(x), y)", "if train or x is not None", []),
        ("print()", "loss = criterion(model(x), y)", "if train", []),
        ("model.train()", "loss = criterion(x, y)", "if train", []),
        ("model.train(); loss = criterion(model(x), y)", "pass", "if train", []),
        ("model.train()", "with torch.set_grad_enabled(train): loss = criterion(model(x), y)", "if train", []),
    ],
)
def test_one_flag_for_both(first, forward, guard, expected):
    assert _found(FLAG.format(first=first, forward=forward, guard=guard)) == expected


@pytest.mark.parametrize(
    ("then", "count"),
    [
        ("model.eval(); print(criterion(model(x), y))", 1),
        ("model.eval(); model.train(); print(criterion(model(x), y))", 0),
        ("model.eval(); criterion(model(x), y).backward()", 0),
        ("model.eval(); return model(x)", 0),
        ("model.eval(); print(x)", 0),
        ("print(criterion(model(x), y)); model.eval()", 0),
    ],
)
def test_after_the_step(then, count):
    assert len(_found(AFTER.format(then=then.replace("; ", "\n    ")))) == count
