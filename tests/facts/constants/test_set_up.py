"""Numbers that an object has set up before its steps, and that each step reads back."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import SET_UP, consequence

CODE = """\
class EulerScheduler:
    def __init__(self):
        self.sigmas = None

    def set_timesteps(self, n, device):
        self.sigmas = torch.linspace(1, 0, n).to(device)

    def step(self, noise: torch.Tensor, t, sample: torch.Tensor):
        i = self.step_index
        {read}
        {then}
        self.step_index += 1
        return sample


def sample_all(model: nn.Module, loader, n):
    scheduler = EulerScheduler()
    scheduler.set_timesteps(n, "cuda")
    for x in loader:
        x = scheduler.step(model(x.cuda()), 0, x.cuda())
"""
TEST = "if {}:\n            sample = self.net(sample)"


def set_up(read, then="pass"):
    files = texts(CODE.format(read=read, then=then))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return [consequence(site) == SET_UP for site in file.hot_calls("item")]


@pytest.mark.parametrize(
    "read",
    [
        TEST.format("self.sigmas[i].item() == 0"),
        TEST.format("self.sigmas[i + 1].abs().item() < 1e-8"),
        "sigma = self.sigmas[i]\n        " + TEST.format("sigma.item() > 0.5"),
        "n = int(self.sigmas[min(i, 9)].item())\n        sample = sample[:n]",
    ],
)
def test_the_object_could_keep_the_numbers(read):
    assert set_up(read) == [True]


@pytest.mark.parametrize(
    ("read", "then"),
    [
        (TEST.format("self.sigmas[i].item() == 0"), "self.sigmas[i] = sample.mean()"),
        (TEST.format("self.sigmas[i].item() == 0"), "self.sigmas = self.sigmas * sample.std()"),
        (TEST.format("self.sigmas[i].item() == 0"), "self.sigmas.mul_(sample.std())"),
        (TEST.format("sample[i].item() == 0"), "pass"),
        (TEST.format("self.sigmas[noise.argmax()].item() == 0"), "pass"),
    ],
)
def test_what_a_step_computes_it_could_not(read, then):
    assert set_up(read, then) == [False]
