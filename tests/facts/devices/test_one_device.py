"""What torch joins lies on one device."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

JOINED = """
    def f(x: torch.Tensor, groups):
        there = x.cuda()
        pairs = {first}
        for rows in groups:
            more = torch.combinations(rows)
            pairs = {grown}
        whole = pairs
        return whole
"""


@pytest.mark.parametrize(
    ("first", "grown", "device"),
    [
        ("torch.zeros(0, 2)", "torch.cat([pairs, more, more.flip(1)])", HOST),
        ("torch.zeros(0, 2)", "torch.vstack((pairs, more))", HOST),
        ("torch.zeros(0, 2)", "torch.maximum(pairs, more)", ANYWHERE),
        ("torch.zeros(0, 2)", "torch.cat([pairs, there])", ANYWHERE),
        ("torch.zeros(0, 2)", "torch.cat([x, more])", ANYWHERE),
        ("x.new_zeros(0, 2)", "torch.cat([pairs, more])", ANYWHERE),
        ("torch.zeros(0, 2, device='cuda')", "torch.cat([pairs, more])", DEVICE),
    ],
)
def test_what_grows_stays_where_it_began(first, grown, device):
    found = value_of(JOINED.format(first=first, grown=grown), "whole")
    assert (found.kind, found.device) == ("tensor", device)


@pytest.mark.parametrize(
    ("joined", "device"),
    [
        ("torch.cat([torch.zeros(3), x])", HOST),
        ("torch.stack((x, torch.ones(3)))", HOST),
        ("torch.cat([torch.zeros(3), x.cuda()])", ANYWHERE),
        ("torch.cat([x, x])", ANYWHERE),
        ("torch.where(x > 0, torch.zeros(3), x)", ANYWHERE),
    ],
)
def test_a_part_on_the_host_says_where_the_others_are(joined, device):
    found = value_of(f"def f(x: torch.Tensor):\n    y = {joined}\n    return y\n", "y")
    assert (found.kind, found.device) == ("tensor", device)
