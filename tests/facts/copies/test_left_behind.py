"""Attributes of modules that stay on the host, however often the constructor sets them."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.left_behind import left_behind

CODE = """
    class Permute(nn.Module):
        def __init__(self, n, first):
            super().__init__()
            self.order = {first}
            self.shuffle()
            {builds}

        def shuffle(self):
            {sets}

        def forward(self, x):
            {steps}
            see(self.order)
            return x[:, self.order]
    """
TAKEN = "self.order = self.order[torch.randperm(len(self.order))]"


def held(first="torch.arange(n)", sets="pass", builds="pass", steps="pass"):
    site = site_of(CODE.format(first=first, sets=sets, builds=builds, steps=steps), "see(self.order)")
    found = left_behind(site.file.project.values, site.call.args[0], site.frame)
    return found.name if found is not None else None


@pytest.mark.parametrize("setting", [{"sets": TAKEN}, {"builds": TAKEN}, {"sets": "self.order = self.order[:4]"}])
def test_what_is_taken_from_a_tensor_of_the_host_stays_there(setting):
    assert held(**setting) == "order"


@pytest.mark.parametrize(
    "setting",
    [
        {"sets": "self.order = self.order.cuda()"},
        {"steps": TAKEN},
        {"steps": "self.order = self.order[x]"},
        {"sets": "self.order = self.other[self.order]"},
        {"first": "torch.arange(n).cuda()", "builds": TAKEN},
        {"first": "first", "builds": TAKEN},
        {"sets": "self.register_buffer('order', torch.arange(4))"},
    ],
)
def test_what_is_moved_or_comes_from_elsewhere(setting):
    assert held(**setting) is None


OUTSIDE = """
    class Shifted(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.order = torch.arange(n)

        def forward(self, x):
            see(self.order)
            return x + self.order


    {outside}
    """
DEMO = "if __name__ == '__main__':\n        layer = Shifted(4)\n        layer.order = torch.zeros(4)\n        layer(2)"
SETS = "def move(layer, device):\n        layer.order = layer.order.to(device)"


@pytest.mark.parametrize(("outside", "name"), [(DEMO, "order"), (SETS, None)])
def test_what_a_demonstration_sets_is_for_its_own_trial(outside, name):
    site = site_of(OUTSIDE.format(outside=outside), "see(self.order)")
    found = left_behind(site.file.project.values, site.call.args[0], site.frame)
    assert (found.name if found is not None else None) == name
