"""Arrays that numpy makes in float64."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.double_arrays import double_on_device, evident


@pytest.mark.parametrize(
    ("made", "double"),
    [
        ("np.random.rand(3)", True),
        ("np.random.rand()", False),
        ("np.random.normal(0, 1)", False),
        ("np.random.normal(0, 1, 8)", True),
        ("np.random.normal(0, 1, size=8)", True),
        ("np.random.randint(0, 9, 8)", False),
        ("np.zeros(3)", True),
        ("np.zeros(3, bool)", False),
        ("np.zeros(3, dtype=np.float32)", False),
        ("np.linspace(0, 1, 5)[1:]", True),
        ("np.linspace(0, 1, 5)[1]", False),
        ("2 * np.ones(3) - 1", True),
        ("np.ones(3) > 0", False),
        ("np.ones(3).astype(int)", False),
        ("np.ones((3, 1)).reshape(-1)", True),
        ("given", False),
    ],
)
def test_what_is_evidently_double(made, double):
    site = site_of(f"def f(given):\n    return torch.from_numpy({made})\n", f"torch.from_numpy({made})")
    assert (evident(site.file, site, site.call.args[0]) is not None) is double


@pytest.mark.parametrize(
    ("written", "uploaded"),
    [
        ("x = torch.from_numpy(np.ones(3)).cuda()", "torch.from_numpy(np.ones(3)).cuda()"),
        ("x = torch.from_numpy(np.ones(3)).unsqueeze(0).cuda()", "torch.from_numpy(np.ones(3)).unsqueeze(0).cuda()"),
        ("x = torch.from_numpy(np.ones(3)).cuda().float()", None),
        ("x = torch.from_numpy(np.ones(3)).to(torch.float32).cuda()", None),
        ("x = torch.from_numpy(np.ones(3)).to(y)", None),
        ("x = torch.from_numpy(np.ones(3)).cuda(); z = x.half()", None),
        ("x = torch.from_numpy(np.ones(3))", None),
    ],
)
def test_what_is_uploaded_as_it_is(written, uploaded):
    site = site_of(f"def f(y):\n    {written}\n", "torch.from_numpy(np.ones(3))")
    found = double_on_device(site.file, site)
    assert (ast.unparse(found.written) if found else None) == uploaded
