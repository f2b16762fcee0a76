"""Parameters that every caller gives a tensor on the host."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.devices.given_on_host import given_on_host

CALL = "torch.tensor([1], device=points.device)"
CODE = f"""
def pick(models, points):
    return points[{CALL}]

def search(x: torch.Tensor, points_host, places):
    {{call}}
"""


@pytest.mark.parametrize(
    ("call", "known"),
    [
        ("pick(x, points_host)", True),
        ("pick(x, points=points_host[places])", True),
        ("pick(x, x.detach().cpu())", True),
        ("pick(x, x.to('cpu'))", True),
        ("pick(x.cpu(), x)", False),
        ("pick(x, points_host), pick(x, x)", False),
        ("pick(*x)", False),
        ("pass", False),
    ],
)
def test_by_what_callers_give(call, known):
    site = site_of(CODE.format(call=call), CALL)
    assert given_on_host(site.file.project.values, site.call.keywords[0].value, site.frame) is known


NONE_GIVEN = """
def places(n, device=None):
    {first}
    return torch.tensor([1], device=device)

def outer(n, device=None):
    return places(n, device=device)

def search(x: torch.Tensor, options):
    {call}
"""


@pytest.mark.parametrize(
    ("call", "first", "known"),
    [
        ("places(3)", "pass", True),
        ("places(3, None)", "pass", True),
        ("outer(3)", "pass", True),
        ("outer(3, x.device)", "pass", False),
        ("places(3), places(4, device=x.device)", "pass", False),
        ("places(3, **options)", "pass", False),
        ("places(3)", "device = device or n.device", False),
        ("places(3)", "torch.set_default_device('cuda')", False),
    ],
)
def test_a_device_that_nobody_gives(call, first, known):
    text = NONE_GIVEN.format(call=call, first=first)
    if "outer(" not in call:
        text = text.replace("return places(n, device=device)", "pass")
    site = site_of(text, "torch.tensor([1], device=device)")
    assert given_on_host(site.file.project.values, site.call.keywords[0].value, site.frame) is known
