"""Masks that no turn of a loop changes."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.fixed_masks import fixed_in
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.selections import selections
from torchperf_lint.facts.source import SourceFile

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


def test_the_rows_of_a_mask_are_no_fixed_ones():
    text = LOOPED.format(mask="mask", rest="pass").replace("for epoch in range(epochs)", "for mask in masks")
    _, found = loops(text.replace("mask = x[:, 0] > 0", "masks = x > 0"))
    assert found == [None] * len(found)


def test_a_handful_of_turns_is_no_loop_to_find_them_before():
    _, found = loops(LOOPED.format(mask="mask", rest="pass").replace("range(epochs)", "range(3)"))
    assert found == [None] * len(found)
