"""Entries of a table of numpy's that a module keeps: a buffer has them on the device."""

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.host_data import ENTRY, upload_at

MODULE = """\
class Diffusion(nn.Module):
    def __init__(self, steps, rows):
        super().__init__()
        self.levels = np.sqrt(np.append(1.0, np.cumprod(np.linspace(0.9, 1.0, steps))))
        self.rows = list(rows)
        self.ema = np.zeros(steps)
        self.register_buffer("alphas", torch.rand(steps))

    def forward(self, x: torch.Tensor, t: int, where: torch.Tensor):
        self.ema[t] = 1.0
        return x * {made}
"""


def kind(made, text=MODULE):
    site = site_of(text.format(made=made), made)
    upload = upload_at(site.file.project.values, site.call, site.frame)
    return upload.kind if upload is not None else None


@pytest.mark.parametrize(
    "made",
    [
        "torch.FloatTensor([self.levels[t + 1]]).repeat(8, 1).to(x.device)",
        "torch.tensor([self.levels[t]], device=x.device)",
        "torch.tensor([self.levels[t], self.levels[t + 1]]).to(x.device)",
        "torch.tensor(self.levels[t], device=x.device)",
    ],
)
def test_an_entry(made):
    assert kind(made) == ENTRY


@pytest.mark.parametrize(
    "made",
    [
        "torch.tensor([self.levels[t], t]).to(x.device)",  # a number of the step besides
        "torch.tensor([self.levels[where]]).to(x.device)",  # read from the device first
        "torch.tensor([self.ema[t]]).to(x.device)",  # steps change it
        "torch.tensor([self.levels[t]])",  # stays on the host
        "torch.tensor(self.levels[t : t + 2]).to(x.device)",
        "torch.FloatTensor(self.rows[t]).to(x.device)",
    ],
)
def test_what_is_none(made):
    assert kind(made) != ENTRY


def test_only_of_modules():
    """Of another object nobody knows how long it lives."""
    text = MODULE.replace("(nn.Module)", "").replace("        super().__init__()\n", "")
    assert kind("torch.tensor([self.levels[t]]).to(x.device)", text) != ENTRY
