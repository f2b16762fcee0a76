"""Objects that are handed a batch by one method and train on it in another."""

from __future__ import annotations

import pytest
from snippets import hot_at

HOT = {
    "a batch": """
        class Restorer:
            def feed_data(self, data):
                self.lq = data["lq"].cuda()  # <-

            def optimize_parameters(self, step):
                self.net(self.lq).mean().backward()
        """,
    "a batch for training, beside one for all else": """
        class Restorer:
            def feed_train_data(self, data):
                self.lq = data["lq"].cuda()  # <-

            def feed_data(self, data):
                self.lq = data["lq"].cuda()

            def optimize_parameters(self, step):
                self.net(self.lq).mean().backward()
        """,
    "what such a method calls": """
        class Mixing:
            def __init__(self):
                self.ways = [self.mixed]

            def mixed(self, x):
                return x[torch.randperm(len(x))]  # <-

            def __call__(self, x):
                return self.ways[0](x)


        class Restorer:
            def __init__(self):
                self.mixing = Mixing()

            def feed_train_batch(self, data):
                self.lq = self.mixing(data["lq"].cuda())

            def optimize_parameters(self, step):
                self.net(self.lq).mean().backward()
        """,
    "inputs": """
        class Translation:
            def set_inputs(self, data):
                self.real = data["A"].cuda()  # <-

            def optimize_parameters(self):
                self.net(self.real).mean().backward()
        """,
}
COLD = {
    "nothing trains on it": """
        class Viewer:
            def feed_train_data(self, data):
                self.shown = data["lq"].cuda()  # <-
        """,
    "no batch of that name": """
        class Restorer:
            def feed_test_data(self, data):
                self.lq = data["lq"].cuda()  # <-

            def optimize_parameters(self, step):
                self.net(self.lq).mean().backward()
        """,
}


@pytest.mark.parametrize("code", HOT.values(), ids=HOT)
def test_fed_and_trained_on(code):
    assert hot_at(code) is not None


@pytest.mark.parametrize("code", COLD.values(), ids=COLD)
def test_near_misses(code):
    assert hot_at(code) is None
