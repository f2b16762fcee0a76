"""Parameters that every caller gives a tensor on the host."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.given_on_host import given_on_host

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
