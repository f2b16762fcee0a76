"""Which draws of `torch.normal` look at a tensor of the device first."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.normal_draws import normal_draws
from torchperf_lint.model import Confidence

MODULE = """
class M(nn.Module):
    def __init__(self, sigma: float, settings):
        super().__init__()
        self.net = nn.Linear(8, 8)
        self.sigma, self.settings = sigma, settings

    def forward(self, x: torch.Tensor, size, **options):
        mean = self.net(x.to("cuda"))
        std = mean.exp()
        return {call}
"""


def _found(call: str) -> list[Confidence]:
    text = IMPORTS + MODULE.replace("{call}", call)
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    return [draw.value.confidence for draw in normal_draws(file)]


@pytest.mark.parametrize(
    "call",
    [
        "torch.normal(mean, std)",
        "torch.normal(mean=mean, std=std * self.sigma)",
        "torch.normal(0.0, std)",
        "torch.normal(-1, torch.ones_like(std))",
        "torch.normal(std=std)",
    ],
)
def test_deviations_of_the_device_are_looked_at(call: str) -> None:
    assert [found is not Confidence.POSSIBLE for found in _found(call)] == [True]


def test_beside_a_number_deviations_of_which_nothing_is_known_may_be_on_the_host() -> None:
    assert _found("torch.normal(0, self.settings.scale)") == [Confidence.POSSIBLE]
    assert _found("torch.normal(mean, torch.sqrt(self.settings.scale))") == [Confidence.POSSIBLE]
    assert _found("torch.normal(mean, self.settings.scale)") == []


@pytest.mark.parametrize(
    "call",
    [
        "torch.normal(mean)",
        "torch.normal(mean, 0.1)",
        "torch.normal(mean, self.sigma)",
        "torch.normal(0.0, 1.0, size=size, device='cuda')",
        "torch.normal(0.0, std.mean(), size)",
        "torch.normal(mean, std, **options)",
        "torch.normal(torch.zeros(3), torch.ones(3))",
        "mean.normal_(0.0, self.sigma)",
    ],
)
def test_numbers_and_the_host_are_not(call: str) -> None:
    assert not _found(call)
