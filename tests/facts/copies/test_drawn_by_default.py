"""What a factory makes unless a flag asks for other numbers."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.drawn_by_default import drawn_by_default

SAMPLE = """
def sample(cdf, n, rows, fixed=False, device="cuda"):
    {made}
    {between}
    if {flag}:
        {instead}
    return search(cdf, {moved}.to("cuda"))

def run(cdf, n):
    return sample(cdf, n, None)
{more}
"""
USUAL = {
    "made": "u = torch.rand(4, n)",
    "between": "pass",
    "flag": "fixed",
    "instead": "u = torch.Tensor(np.random.rand(4, n))",
    "moved": "u",
    "more": "",
}


def drawn(**parts):
    given = USUAL | parts
    return drawn_by_default(site_of(SAMPLE.format(**given), f'{given["moved"]}.to("cuda")'))


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"moved": "u.contiguous()"},
        {"made": "u = torch.rand(4, n) * 0.5"},
        {"made": "u = torch.linspace(0.0, 1.0, n) if n > 3 else None\n    u = torch.rand(4, n)"},
        {"instead": "u = np.random.rand(4, n)\n        u = torch.Tensor(u)"},
        {"more": "def check(cdf, n):\n    return sample(cdf, n, None, True)"},
    ],
)
def test_the_usual_way_draws_on_the_host(parts):
    found = drawn(**parts)
    assert found is not None
    assert (found.factory, found.device) == ("rand", "'cuda'")


@pytest.mark.parametrize(
    "parts",
    [
        {"made": "u = torch.rand(4, n, device=cdf.device)"},
        {"made": "u = torch.tensor(rows)"},
        {"made": "u = torch.rand(4, n, generator=rows)"},
        {"flag": "n > 3"},
        {"flag": "not fixed"},
        {"instead": "pass"},
        {"between": "u.copy_(rows)"},
        {"between": "rows.append(u)"},
        {"made": "u = torch.rand(4, n)\n    for _ in range(n):\n        u = torch.rand(4, n)"},
    ],
)
def test_what_is_no_draw_of_the_usual_way(parts):
    assert drawn(**parts) is None


def test_a_flag_that_every_call_sets():
    code = SAMPLE.format(**USUAL).replace("sample(cdf, n, None)", "sample(cdf, n, None, True)")
    assert drawn_by_default(site_of(code, 'u.to("cuda")')) is None
