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
        {"sets": "self.order = self.order.to(self.weight).view(-1)"},
        {"builds": "self.order = self.other.view(-1)"},
    ],
)
def test_what_is_moved_or_comes_from_elsewhere(setting):
    assert held(**setting) is None


@pytest.mark.parametrize("sets", ["self.order = self.order.view(-1)", "self.order = self.order.bool().flatten()"])
def test_views_and_conversions_leave_it_where_it_was(sets):
    assert held(sets=sets) == held(builds=sets) == held(steps=sets) == "order"


BESIDE = """
    class Masked(nn.{base}):
        def __init__(self, n{told}):
            super().__init__()
            {first}
            self.order = {made}

        def forward(self, x):
            see(self.order)
            return x[:, self.order]
    """


@pytest.mark.parametrize(
    ("made", "first", "base", "told", "name"),
    [
        ("self.weight.new_zeros(n).bool()", "pass", "Linear", "", "order"),
        ("torch.zeros_like(self.bias)", "pass", "Conv2d", "", "order"),
        ("self.w.new_ones(n)", "self.w = nn.Parameter(torch.empty(n))", "Module", "", "order"),
        ("self.w.new_ones(n)", "self.w = nn.Parameter(self.weight.new_zeros(n))", "Linear", "", "order"),
        ("self.weight.new_zeros(n)", "pass", "Linear", ", device=None", None),
        ("self.weight.new_zeros(n, device=n)", "pass", "Linear", "", None),
        ("self.weight.new_zeros(n).cuda()", "pass", "Linear", "", None),
        ("self.weight.new_zeros(n)", "pass", "Module", "", None),
        ("self.weight.new_zeros(n)", "self.weight = n.weight", "Linear", "", None),
        ("self.w.new_ones(n)", "self.w = nn.Parameter(torch.empty(n, device='cuda'))", "Module", "", None),
    ],
)
def test_what_a_constructor_makes_beside_a_parameter(made, first, base, told, name):
    code = BESIDE.format(made=made, first=first, base=base, told=told)
    site = site_of(code, "see(self.order)")
    found = left_behind(site.file.project.values, site.call.args[0], site.frame)
    assert (found.name if found is not None else None) == name


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
