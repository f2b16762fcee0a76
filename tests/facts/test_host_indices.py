"""What indexes a tensor of the device from host memory, and what is still only a factory's numbers."""

from __future__ import annotations

import pytest
from calls_in import site_of
from snippets import texts

from torchperf_lint.facts.fresh import fresh_on_host
from torchperf_lint.facts.host_indices import host_indices
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile

HEAD = """
    class Net(nn.Module):
        def __init__(self, p: float):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.p = p

        def forward(self, x: torch.Tensor, labels: torch.Tensor, lengths):
            x = self.proj(x.to("cuda"))
            n = x.size(0)
            order = torch.randperm(n)
            there = torch.arange(n, device=x.device)
            return {}
"""


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ("x[torch.arange(n), labels]", ["arange"]),
        ("x[order]", ["randperm"]),
        ("x[:, order[:3]]", ["randperm"]),
        ("x[torch.rand(n) > self.p]", ["rand"]),
        ("x[there, labels]", []),
        ("x[order[0]]", []),
        ("x[labels]", []),
        ("torch.zeros(n, 3)[order]", []),
        ("x[: n // 2]", []),
    ],
)
def test_indices_in_host_memory(used, expected):
    files = texts(HEAD.format(used))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [index.fresh.factory for index in host_indices(file)] == expected


@pytest.mark.parametrize(
    ("made", "factory"),
    [
        ("(torch.rand(n) > self.p)", "rand"),
        ("(torch.rand(n) > lengths)", "rand"),
        ("(torch.arange(n) / n)", "arange"),
        ("torch.randperm(n)[:n]", "randperm"),
        ("torch.sqrt(torch.arange(n)[:, None])", "arange"),
        ("torch.arange(n).float().exp()", "arange"),
        ("(torch.arange(n)[None] < lengths[:, None])", None),
        ("(torch.arange(n) * labels)", None),
        ("torch.arange(n)[labels]", None),
    ],
)
def test_what_is_computed_from_a_factory_and_numbers_is_fresh(made, factory):
    site = site_of(HEAD.format(f"{made}.to(x.device)"), f"{made}.to(x.device)")
    found = fresh_on_host(site.file.project.values, site.call, site.frame)
    assert (found.factory if found else None) == factory
