"""Functions that a hot loop defines in each turn run as often as it turns, whatever they are called."""

import pytest
from snippets import hot_at

TURNS = """
def timed(f):
    start = time.time()
    return f(), time.time() - start

def train(model, loader, optimizer, device):
    {outside}
    for step, (x, y) in enumerate(loader):
        {guard}
            def {name}():
                return [part.to(device) for part in x]  # <-
            images = {call}
        model(x).sum().backward()
        optimizer.step()
"""
GIVEN = {"outside": "pass", "guard": "with record(step):", "name": "load_images", "call": "load_images()"}


@pytest.mark.parametrize("parts", [{}, {"call": "timed(load_images)"}, {"name": "save_all", "call": "save_all()"}])
def test_what_a_turn_defines_and_calls(parts):
    found = hot_at(TURNS.format(**(GIVEN | parts)))
    assert found is not None
    assert found.kind == "step"


@pytest.mark.parametrize(
    "parts",
    [
        {"guard": "if step % 100 == 0:"},  # now and then
        {"name": "plot_images", "call": "plot_images()"},  # for people
        {"call": "3"},  # nobody calls it
    ],
)
def test_what_runs_seldom(parts):
    assert hot_at(TURNS.format(**(GIVEN | parts))) is None


def test_what_stands_outside_is_told_by_its_name():
    text = TURNS.format(**(GIVEN | {"name": "other", "outside": "def load_images():\n        return x.cuda()  # <-"}))
    assert hot_at(text.replace("for part in x]  # <-", "for part in x]")) is None
