"""Attributes that a base class only uses, and its subclasses set."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import value_of

from torchperf_lint.facts.loaders.copied_into import batch_copied_into

FAMILY = """
    class Base:
        def feed(self, batch: torch.Tensor):
            self.input.resize_(batch[0].size()).copy_(batch[0])
            self.other.show(batch)

        def learn(self, loader):
            for data in loader:
                self.feed(data)
                self.loss.backward()
                self.optimizer.step()

    class First(Base):
        def __init__(self, device):
            self.input = {first}

    class Second(Base):
        def __init__(self, device):
            self.input = {second}
            self.second = torch.zeros(3)

    class Third(Second):
        pass
"""
THERE, HERE = 'torch.empty(8, 3, device="cuda")', "torch.empty(8, 3)"


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [
        (THERE, 'torch.zeros(3, 3, device="cuda")', ("tensor", "device")),
        (HERE, HERE, ("tensor", "host")),
        (THERE, "[]", ("unknown", "anywhere")),
        ("nn.Linear(3, 3)", "nn.Conv2d(3, 3, 1)", ("module", "anywhere")),
    ],
)
def test_what_all_subclasses_set_an_attribute_to(first, second, shown):
    value = value_of(FAMILY.format(first=first, second=second), "self.input")
    assert (value.kind, value.device) == shown


def test_an_attribute_that_nobody_sets_is_unknown():
    assert value_of(FAMILY.format(first=THERE, second=THERE), "self.other").kind == "unknown"


@pytest.mark.parametrize(("made", "copies"), [(THERE, True), (HERE, False)])
def test_a_part_of_the_batch_is_copied_into_it(made, copies):
    call = "self.input.resize_(batch[0].size()).copy_(batch[0])"
    site = site_of(FAMILY.format(first=made, second=made), call)
    assert (batch_copied_into(site.file.project.values, site.call, site.frame) is not None) is copies
