"""Tensors that samples keep in host memory, and that a training loop copies whenever it draws the sample."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.moves import repeated_move

VIEWS = """\
class View:
    def __init__(self, path):
        self.image = {image}
{methods}

def train(model: nn.Module, paths, optimizer, device, steps, given):
    views = [View(path) for path in paths]
    for step in range(steps):
        view = {draw}
        loss = model({move}).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def kind(move="view.image.cuda()", image="torch.from_numpy(np.load(path))", draw="views.pop(0)", methods=""):
    inside = "".join(f"    {line}\n" for line in methods.splitlines())
    found = repeated_move(site_of(VIEWS.format(move=move, image=image, draw=draw, methods=inside), move))
    return found.kind if found is not None else None


@pytest.mark.parametrize("draw", ["views.pop(0)", "views[step % 9]", "random.choice(views)"])
def test_another_sample_is_drawn(draw):
    expected = "sample" if draw != "random.choice(views)" else None  # whose class nothing tells
    assert kind(draw=draw) == expected


@pytest.mark.parametrize(
    "changed",
    [
        {"draw": "View(step)"},
        {"draw": "given[0]"},
        {"image": "torch.from_numpy(np.load(path)).cuda()"},
        {"move": "view.image.cuda(non_blocking=True)"},
        {"methods": "def read(self, path):\n    self.image = torch.load(path)"},
        {"methods": "def to(self, device):\n    return self"},
    ],
)
def test_what_may_be_another_tensor(changed):
    assert kind(**changed) is None
