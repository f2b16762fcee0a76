"""What stands under a test of an attribute that no constructor is given never runs."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import HOST

FOREVER = """
def to_device(batch, device):
    return [part.to(device) for part in batch]

class Forever:
    def __init__(self, loader: DataLoader, device=None):
        self.loader, self.iterator = loader, iter(loader)
        self.device = device
        {more}

    def __next__(self):
        try:
            batch = next(self.iterator)
        except StopIteration:
            self.iterator = iter(self.loader)
            batch = next(self.iterator)
        if {test}:
            batch = to_device(batch, self.device)
        return batch

def train(dataset, model, options):
    batches = Forever({given})
    for _ in range(1000):
        x, y = next(batches)
        model(x.cuda()).backward()
"""


@pytest.mark.parametrize(
    ("given", "test", "more", "on_host"),
    [
        ("DataLoader(dataset)", "self.device is not None", "", True),
        ("DataLoader(dataset), None", "self.device", "", True),
        ("DataLoader(dataset), 'cuda'", "self.device is not None", "", False),
        ("DataLoader(dataset), device=options.device", "self.device is not None", "", False),
        ("DataLoader(dataset), **options", "self.device is not None", "", False),
        ("*options", "self.device is not None", "", False),
        ("DataLoader(dataset)", "self.device is None", "", False),
        ("DataLoader(dataset)", "self.loader is not None", "", False),
        ("DataLoader(dataset)", "self.device is not None", "self.device = 'cuda'", False),
    ],
)
def test_what_an_iterator_gives_that_is_told_no_device_is_on_the_host(given, test, more, on_host):
    value = value_of(FOREVER.format(given=given, test=test, more=more), "x")
    assert (value.kind == "batch" and value.device == HOST) is on_host
