"""Attributes that are put to the host and stay there."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.copies.left_on_host import stays_there
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

NET = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(1))

    def forward(self, x: torch.Tensor):
        {body}
        {other}
        return x

    def refilled(self):
        self.n = torch.zeros(1).cuda()
"""


@pytest.mark.parametrize(
    ("body", "other", "expected"),
    [
        ("self.n = self.n.cpu()", "pass", True),
        ("self.n = self.n.detach().cpu()", "pass", True),
        ("self.n = self.n.to('cpu')", "pass", True),
        ("self.n = self.n.cpu()", "self.n = x.sum()", False),
        ("self.n = self.n.cpu()", "self.n += x.sum()", False),
        ("self.n = self.n.cpu()", "self.refilled()", False),
        ("self.m = self.n.cpu()", "pass", False),
        ("x = x.cpu()", "pass", False),
        ("self.n = self.n.cpu().sum()", "pass", False),
        ("n = self.n.cpu()", "pass", False),
    ],
)
def test_what_stays_on_the_host(body, other, expected):
    files = texts(NET.format(body=body, other=other))
    (site,) = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("cpu", "to")
    assert stays_there(site) is expected
