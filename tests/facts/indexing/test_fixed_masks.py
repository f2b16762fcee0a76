"""Masks that no turn of a loop changes."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.fixed_masks import fixed_in
from torchperf_lint.facts.indexing.selections import selections

LOOPED = """
    class Trained(nn.Module):
        def __init__(self, data):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.data = data.to("cuda")
            self.kept = torch.ones(4, dtype=torch.bool, device="cuda")
            self.alive = torch.ones(4, dtype=torch.bool, device="cuda")

        def grow(self):
            self.alive = self.alive | self.kept

        def fit(self, x, given, optimizer, epochs):
            x = x.to("cuda")
            mask = x[:, 0] > 0
            data = given.to("cuda")
            for epoch in range(epochs):
                self.grow()
                loss = self.proj(x[{mask}]).mean()
                loss.backward()
                optimizer.step()
                {rest}
"""
CALLED = """
    data = load().to("cuda")

    def train(net, optimizer{parameter}):
        rows = net({name}.x)[{name}.train_mask]
        rows.mean().backward()
        optimizer.step()

    def main(net, optimizer, given, loader):
        given = given.to("cuda")
        for part in {over}:
            train(net, optimizer{argument})
"""


def loops(text):
    files = texts(text)
    found = selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return files["a.py"].splitlines(), [fixed_in(selection) for selection in found]


@pytest.mark.parametrize(
    ("mask", "rest"),
    [
        ("mask", "pass"),
        ("~mask", "pass"),
        ("mask | self.kept", "pass"),
        ("self.kept", "pass"),
        ("data.train_mask", "pass"),
        ("data.train_mask.bool()", "data.x[0] = 1"),
        ("data.ndata['train_mask']", "print(data)"),
        ("data.ndata['train_mask']", "data.ndata['feat'] = x"),
        ("data.train_mask", "loss = self.proj(data)"),
        ("self.data.val_mask", "self.data.x = x"),
        ("data.train_mask + data.val_mask", "pass"),
    ],
)
def test_a_mask_that_stands_before_the_loop_is_fixed(mask, rest):
    lines, found = loops(LOOPED.format(mask=mask, rest=rest))
    assert found
    for loop in found:
        assert loop is not None
        assert lines[loop.head - 1].strip() == "for epoch in range(epochs):"
        assert loop.hot


@pytest.mark.parametrize(
    ("mask", "rest"),
    [
        ("mask", "mask = x[:, 1] > epoch"),
        ("mask", "mask[epoch] = True"),
        ("mask", "mask &= x[:, 1] > 0"),
        ("mask", "mask.fill_(True)"),
        ("mask", "prune(mask)"),
        ("mask | self.alive", "pass"),
        ("self.alive", "pass"),
        ("x[:, 0] > 0", "pass"),
        ("data.train_mask", "data = next(loader).to('cuda')"),
        ("data.train_mask", "data.train_mask = mask"),
        ("data.train_mask", "update_masks(data)"),
        ("data.train_mask", "update_masks(into=data)"),
        ("self.data.val_mask", "update_masks(self.data)"),
        ("data.ndata['train_mask']", "data.ndata['train_mask'] = mask"),
        ("self.data.val_mask", "self.data = next(loader).to('cuda')"),
    ],
)
def test_a_mask_that_a_turn_changes_is_none(mask, rest):
    _, found = loops(LOOPED.format(mask=mask, rest=rest))
    assert found
    assert found == [None] * len(found)


@pytest.mark.parametrize(
    ("parameter", "name", "argument", "over", "fixed"),
    [
        (", nodes", "nodes", ", given", "range(100)", True),
        ("", "data", "", "range(100)", True),
        (", nodes", "nodes", ", part.to('cuda')", "loader", False),
        (", nodes", "nodes", ", part", "loader", False),
    ],
)
def test_the_loop_may_stand_in_the_caller(parameter, name, argument, over, fixed):
    lines, found = loops(CALLED.format(parameter=parameter, name=name, argument=argument, over=over))
    heads = [lines[loop.head - 1].strip() for loop in found if loop is not None]
    assert heads == (["for part in range(100):"] if fixed else [])
    assert found


RESAMPLED = """
    data = load().to("cuda")

    def resample(start):
        {resample}

    def train(net, optimizer{parameter}):
        rows = net({name}.x)[{name}.train_mask]
        rows.mean().backward()
        optimizer.step()

    def main(net, optimizer, given):
        given = given.to("cuda")
        for epoch in range(100):
            {before}
            train(net, optimizer{argument})
"""


@pytest.mark.parametrize(
    ("resample", "before", "fixed"),
    [
        ("data.train_mask = torch.rand(4, device='cuda') > start", "resample(0)", False),
        ("data.train_mask[start:] = True", "resample(0)", False),
        ("data.train_mask.bernoulli_(start)", "resample(0)", False),
        ("data.val_mask = torch.rand(4, device='cuda') > start", "resample(0)", True),
        ("data.train_mask = torch.rand(4, device='cuda') > start", "print(epoch)", True),
    ],
)
def test_a_function_that_a_turn_calls_may_change_the_mask(resample, before, fixed):
    text = RESAMPLED.format(resample=resample, before=before, parameter="", name="data", argument="")
    _, found = loops(text)
    assert found
    assert [loop is not None for loop in found] == [fixed] * len(found)


@pytest.mark.parametrize(
    ("before", "fixed"),
    [
        ("print(given)", True),
        ("given.y = net.labels", True),
        ("update_masks(given)", False),
        ("given.train_mask = given.val_mask", False),
        ("given.train_mask[epoch] = True", False),
    ],
)
def test_a_turn_may_change_the_mask_of_what_it_hands_on(before, fixed):
    given = {"parameter": ", nodes", "name": "nodes", "argument": ", given"}
    _, found = loops(RESAMPLED.format(resample="pass", before=before, **given))
    assert found
    assert [loop is not None for loop in found] == [fixed] * len(found)


def test_the_rows_of_a_mask_are_no_fixed_ones():
    text = LOOPED.format(mask="mask", rest="pass").replace("for epoch in range(epochs)", "for mask in masks")
    _, found = loops(text.replace("mask = x[:, 0] > 0", "masks = x > 0"))
    assert found == [None] * len(found)


def test_a_handful_of_turns_is_no_loop_to_find_them_before():
    _, found = loops(LOOPED.format(mask="mask", rest="pass").replace("range(epochs)", "range(3)"))
    assert found == [None] * len(found)
