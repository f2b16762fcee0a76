"""What numpy has made in float64, copied to the device as it is and converted there."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.doubles_uploaded import doubles_uploaded

HELPERS = """
def maps(masks):
    found = np.zeros(masks.shape)
    found[0] = 1
    return found

def narrow(masks):
    return np.zeros(masks.shape, dtype=np.float32)

class M(nn.Module):
    def forward(self, x: torch.Tensor, masks, table):
        {before}
        return {used}
"""


def asked(array, used, call):
    snippet = HELPERS.format(before=f"a = torch.from_numpy({array})", used=used)
    site = site_of(snippet, call)
    return doubles_uploaded(site.file, site) is not None


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        ("maps(masks)", True),
        ("maps(masks) ** 2 + 1.0", True),
        ("maps(masks)[1:]", True),
        ("np.linspace(0, 1, 9)", True),
        ("np.random.randn(*masks.shape)", True),
        ("narrow(masks)", False),
        ("maps(masks).astype(np.float32)", False),
        ("table", False),
        ("np.array(table)", False),
    ],
)
def test_what_is_made(array, expected):
    assert asked(array, "a.to(x.device).float()", "a.to(x.device)") is expected


@pytest.mark.parametrize(
    ("used", "call", "expected"),
    [
        ("a.cuda().float()", "a.cuda()", True),
        ("a.to(x.device).type(torch.float32)", "a.to(x.device)", True),
        ("a.unsqueeze(0).to(x.device).view(-1).half()", "a.unsqueeze(0).to(x.device)", True),
        ("a.to(x.device)", "a.to(x.device)", False),
        ("a.to(x.device).double()", "a.to(x.device)", False),
        ("a.float().to(x.device).half()", "a.float().to(x.device)", False),
        ("a.to(x.device, torch.float32).float()", "a.to(x.device, torch.float32)", False),
        ("a.to('cpu').float()", "a.to('cpu')", False),
    ],
)
def test_what_is_done_with_it(used, call, expected):
    assert asked("maps(masks)", used, call) is expected
