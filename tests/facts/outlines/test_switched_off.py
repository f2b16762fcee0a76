"""Branches behind switches that a file writes out as off."""

from __future__ import annotations

import pytest
from snippets import hot_at

STEP = """
{constant}

def train(model, loader, optimizer):
    for x in loader:
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        if {test}:
            print(loss)  # <-
        else:
            loss.detach()
"""


@pytest.mark.parametrize(
    ("constant", "test", "hot"),
    [
        ("SHOW_LOSS = False", "SHOW_LOSS", False),
        ("SHOW_LOSS: bool = False  # turn on by hand", "SHOW_LOSS", False),
        ("SHOW_LOSS = 0", "SHOW_LOSS", False),
        ("SHOW_LOSS = True", "SHOW_LOSS", True),
        ("SHOW_LOSS = True", "not SHOW_LOSS", True),
        ("SHOW_LOSS = False", "not SHOW_LOSS", True),
        ("SHOW_LOSS = False\nif args.show: SHOW_LOSS = True", "SHOW_LOSS", True),
        ("SHOW_LOSS = args.show", "SHOW_LOSS", True),
        ("shows = False", "shows", True),
    ],
)
def test_a_branch_behind_a_constant_that_is_off_does_not_run(constant, test, hot):
    assert (hot_at(STEP.format(constant=constant, test=test)) is not None) is hot
