"""Batches that move themselves: objects of a class of the project with a `to` of its own."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.loaders import batch_copy
from torchperf_lint.facts.loaders.own_batches import own_move, waits_for_nothing


def move(to="def to(self, device):", copy="x.to(device)", collate="Batch(items)", turn="for batch in loader:"):
    files = texts(f"""
    class Batch:
        def __init__(self, items):
            self.x = torch.stack(items)

        {to}
            self.x = self.{copy}
            return self

    def collate(items):
        return {collate}

    def train(model, data, optimizer, device):
        loader = DataLoader(data, collate_fn=collate)
        {turn}
            batch.to(device)
            loss = model(batch)
            loss.backward()
            optimizer.step()
    """)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    site = list(file.hot_calls("to"))[-1]
    batch = batch_copy(file.project.values, site.call, site.frame)
    return own_move(site, batch) if batch is not None else None, file


def test_a_method_without_the_argument_is_what_has_to_be_given_it():
    found, _ = move()
    assert found is not None and found.advice.startswith("`Batch.to` (a.py:12) takes no `non_blocking`: give it one")
    assert "cannot pin such a batch" in found.advice


@pytest.mark.parametrize(
    "near",
    [
        {"to": "def to(self, device, non_blocking=False):"},
        {"to": "def to(self, device, **how):"},
        {"to": "def moved(self, device):"},
        {"collate": "torch.stack(items)"},
        {"turn": "for batch, _ in loader:"},
    ],
)
def test_what_takes_the_argument_or_is_a_tensor_is_none(near):
    assert move(**near)[0] is None


@pytest.mark.parametrize(("copy", "expected"), [("x.to(device, non_blocking=True)", True), ("x.to(device)", False)])
def test_a_method_may_ask_its_copies_not_to_wait(copy, expected):
    found, file = move(copy=copy)
    assert found is not None and waits_for_nothing(file.project, found) is expected
