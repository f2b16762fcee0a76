"""Entries of dicts that objects keep, by their texts."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE, DEVICE, HOST

CODE = """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.drawn = {{}}

    def forward(self, x: torch.Tensor):
        self.drawn["apply"] = torch.rand(3).cuda()
        self.draw(x)
        return self.use(x)

class Cut(Base):
    def draw(self, x):
        {put}

    def use(self, x):
        return self.drawn["lengths"]
"""


@pytest.mark.parametrize(
    ("put", "device"),
    [
        ('self.drawn["lengths"] = torch.randint(0, 9, (3,))', HOST),
        ('self.drawn["lengths"] = torch.randint(0, 9, (3,)).cuda()', DEVICE),
    ],
)
def test_what_the_methods_put_there(put: str, device: str):
    value = value_of(CODE.format(put=put), 'self.drawn["lengths"]')
    assert (value.kind, value.device) == ("tensor", device)


@pytest.mark.parametrize(
    "put",
    [
        'self.drawn["lengths"] = torch.randint(0, 9, (3,)); self.drawn[x] = x.cuda()',
        "self.other = torch.randint(0, 9, (3,))",
    ],
)
def test_what_may_be_anything(put: str):
    value = value_of(CODE.format(put=put), 'self.drawn["lengths"]')
    assert value.device in (ANYWHERE, DEVICE)
