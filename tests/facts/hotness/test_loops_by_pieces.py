"""Loops each turn of which runs a model on the pieces of what it takes, in a loop inside."""

from __future__ import annotations

import pytest
from snippets import hot_at

VIEWS = """
    def novel_views({over}, make_rays, n):
        model = nn.Linear(8, 8).cuda()
        model.eval()
        images = []
        for {taken} in {over}:
            rays = make_rays(n)
            images.append(rays)  # <-
            {pieces}
            for part in {parts}:
                images.append(model(part))
        return images
"""


def views(taken="pose", over="poses", pieces="pieces = rays.split(4096)", parts="pieces"):
    return VIEWS.format(taken=taken, over=over, pieces=pieces, parts=parts)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"parts": "rays.split(4096)"},
        {"parts": "range(0, rays.shape[0], 4096)"},
        {"taken": "frames", "over": "videos", "parts": "frames"},
        {"taken": "i, (pose, scale)", "over": "poses"},
    ],
)
def test_each_turn_is_an_input(changed):
    found = hot_at(views(**changed))
    assert found is not None
    assert found.kind == "eval"


@pytest.mark.parametrize(
    "changed",
    [
        {"taken": "epoch", "over": "range"},
        {"taken": "name, pose", "over": "tasks"},
        {"over": "datasets"},
        {"parts": "others"},
        {"pieces": "pieces = DataLoader(rays)"},
        {"parts": "model.layers"},
    ],
)
def test_turns_that_are_whole_evaluations_or_take_something_else(changed):
    assert hot_at(views(**changed)) is None
    assert hot_at(views().replace("model(part)", "part.sum()")) is None
