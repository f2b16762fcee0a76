"""Branches that fill an attribute which every pass, or every training step, sets to None again before."""

from __future__ import annotations

import pytest
from snippets import hot_at

SPELLER = {
    "a.py": """
class Located(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.forget()

    def forget(self):
        self.before = None

    def remember(self, before):
        self.before = before

    def forward(self, x):
        if self.before is None:
            self.before = torch.zeros(x.shape)  # <-
        self.before = self.proj(x + self.before)
        return self.before
""",
    "b.py": """
from a import Located

class Speller(nn.Module):
    def __init__(self, width, attends):
        super().__init__()
        self.attends = attends
        self.attention = Located(width)

    def start(self):
        self.attention.forget()

    def forward(self, x, fresh):
        if self.attends:
            self.attention.forget()
        for _ in range(3):
            x = self.attention(x)
        return x
""",
}


def often(path: str = "a.py", old: str = "", new: str = "") -> bool:
    assert old in SPELLER[path]
    return hot_at({**SPELLER, path: SPELLER[path].replace(old, new)}) is not None


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "", ""),
        ("a.py", "def forget(self):\n", "def forget(self):\n        self.seen = 0\n"),
        ("b.py", "if self.attends:\n            self.attention.forget()", "self.attention.forget()"),
        ("b.py", "if self.attends:\n            self.attention.forget()", "self.start()"),
        ("b.py", "if self.attends:", "with torch.no_grad():"),
    ],
)
def test_what_every_pass_empties_is_filled_in_every_pass(path: str, old: str, new: str):
    assert often(path, old, new)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("b.py", "if self.attends:", "if fresh:"),
        ("b.py", "if self.attends:", "if x.shape[0] != 3:"),
        ("b.py", "def start(self):", "def start(self):\n        self.attends = False"),  # a state: it may never hold
        ("b.py", "            self.attention.forget()\n        for", "            x = x + 1\n        for"),
        ("b.py", "forget()\n        for", "forget()\n        self.attention.remember(x)\n        for"),
        ("a.py", "self.before = None", "self.before = self.proj.bias"),
        ("a.py", "self.before = None", "if self.training:\n            self.before = None"),
        ("a.py", "self.before = None", "self.after = None"),
        ("a.py", "def forget(self):\n", "def forget(self):\n        if self.training:\n            return\n"),
    ],
)
def test_what_is_emptied_now_and_then_is_filled_now_and_then(path: str, old: str, new: str):
    assert not often(path, old, new)


TRAINING = """
class Spiking(nn.Module):
    def __init__(self):
        super().__init__()
        self.charge = None

    def reset(self):
        self.charge = None

    def forward(self, x):
        if self.charge is None:
            self.charge = torch.zeros(x.shape)  # <-
        self.charge = self.charge + x
        return self.charge

def train(loader, optimizer):
    model = Spiking()
    for epoch in range(9):
        {epoch}
        for x, y in loader:
            {step}
            loss = (model(x) - y).mean()
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("epoch", "step", "hot"),
    [
        ("pass", "model.reset()", True),
        ("model.reset()", "pass", False),
        ("pass", "if epoch == 0: model.reset()", False),
        ("pass", "pass", False),
    ],
)
def test_a_training_step_that_empties(epoch: str, step: str, hot: bool):
    assert (hot_at(TRAINING.format(epoch=epoch, step=step)) is not None) is hot


def test_every_pass_says_how_often_and_not_the_loop_in_it():
    hot = hot_at({**SPELLER, "b.py": SPELLER["b.py"] + """
def train(model: Speller, loader, optimizer):
    for x in loader:
        model(x, True).mean().backward()
        optimizer.step()
"""})
    assert hot is not None
    assert "for x in loader" in hot.when


CACHED = """
class Decayed(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = None

    def computed(self):
        self.weights = None
        return torch.ones(3)

    def kept(self):
        if self.weights is None:
            self.weights = self.{made}  # <-
        return self.weights

    def forward(self, x):
        self.computed()
        return x * self.kept()
"""


def test_what_the_branch_itself_empties_before_it_fills_it_stays():
    assert hot_at(CACHED.format(made="computed()")) is None
    assert hot_at(CACHED.format(made="scale")) is not None
