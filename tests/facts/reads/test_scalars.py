"""Lists of tensors on the device that `torch.tensor(...)` reads number by number."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.scalars import holds_device_scalars

STEP = """
def average(values):
    if isinstance(values, list):
        values = torch.tensor(values)
    return values.mean()

def train(optimizer, loader, test):
    model = nn.Linear(4, 4).cuda()
    for x in loader:
        out = model(x.cuda())
        {made}
        loss = out.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def reads(made: str, call: str) -> bool:
    site = site_of(STEP.format(made=made), call)
    return holds_device_scalars(site.file.project.values, site.call.args[0], site.frame) is not None


TESTED = """if isinstance(found, list):
            found = torch.tensor(found)"""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("found = [o.sum() for o in out]", True),
        ("found = [out[0].sum(), out[1].sum()]", True),
        ("found = out.sum(0)", False),  # it is no list then
        ("found = [1.0, 2.0]", False),
    ],
)
def test_a_list_of_tensors_is_one_whether_it_is_tested_or_not(made, expected):
    assert reads(f"{made}\n        {TESTED}", "torch.tensor(found)") is expected


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("average([out[0].sum(), out[1].sum()])", True),
        ("average([o.sum() for o in out])", True),
        ("average(out.sum(0))", False),  # the other form of a tensor is a list of numbers
        ("average([1.0, 2.0])", False),
    ],
)
def test_a_list_that_callers_give(made, expected):
    assert reads(made, "torch.tensor(values)") is expected
