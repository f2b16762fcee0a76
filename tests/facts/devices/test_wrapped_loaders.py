"""Batches that an object hands over from the loader it was made with, and loaders that somebody else has set up."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
    from lightning import Fabric

    class Cycle:
        def __init__(self, iterable):
            self.iterable, self.iterator = iterable, None

        def __next__(self):
            if self.iterator is None:
                self.iterator = iter(self.iterable)
            try:
                return next(self.iterator)
            except StopIteration:
                self.iterator = iter(self.iterable)
                return next(self.iterator)

    def loaders(fabric: Fabric, data):
        train_loader = DataLoader(data, 4)
        return fabric.setup_dataloaders(train_loader)

    def fit(fabric: Fabric, model, train_loader: DataLoader, plain: DataLoader):
        batches, others = Cycle(train_loader), Cycle(plain)
        while True:
            batch, other = next(batches), next(others)
            fabric.backward(model(batch["x"]))

    def main(fabric: Fabric, model, data):
        fit(fabric, model, loaders(fabric, data), DataLoader(data, 4))
"""


@pytest.mark.parametrize(("expression", "device"), [("next(batches)", "device"), ("next(others)", "host")])
def test_a_batch_is_where_those_of_its_own_loader_are(expression, device):
    found = value_of(CODE, expression)
    assert (found.kind, found.device) == ("batch", device)


LOOP = """
    from accelerate import Accelerator

    def train(model, loader: DataLoader):
        for batch in loader:
            print(batch)  # <-

    def main(model, data):
        accelerator = Accelerator()
        {given}
        train(model, loader)
"""


@pytest.mark.parametrize(
    ("given", "device"),
    [("loader = accelerator.prepare(DataLoader(data, 4))", "device"), ("loader = DataLoader(data, 4)", "host")],
)
def test_a_loader_of_that_type_is_as_its_caller_has_set_it_up(given, device):
    assert value_of(LOOP.replace("{given}", given), "batch").device == device


AHEAD = """
    from prefetch_generator import BackgroundGenerator
    from other import Preloader

    class Ahead(DataLoader):
        def __iter__(self):
            return {given}

    def train(model: nn.Module, data, optimizer):
        for x, y in Ahead(data, 4):
            print(x)  # <-
"""


@pytest.mark.parametrize(
    ("given", "device"),
    [
        ("BackgroundGenerator(super().__iter__())", "host"),
        ("BackgroundGenerator(super().__iter__(), max_prefetch=8)", "host"),
        ("Preloader(super().__iter__())", "anywhere"),
        ("BackgroundGenerator(self.moved())", "anywhere"),
    ],
)
def test_a_thread_that_takes_the_batches_ahead_leaves_them_where_they_are(given, device):
    assert value_of(AHEAD.format(given=given), "x").device == device
