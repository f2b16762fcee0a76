"""What a constructor leaves on the host, moved at every step beside another attribute that stays there."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.moves import repeated_move

SCHEDULE = """\
class Schedule:
    def __init__(self, n, given):
        self.timesteps = {timesteps}
        self.sigmas = {sigmas}

    {setter}(self, n, device):
        self.timesteps = torch.arange(n).to(device)

    def add_noise(self, clean: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
        sigmas = self.sigmas.to({target})
        steps = self.timesteps.to(clean.device)
        return clean + noise * sigmas[steps]
"""


def moved(
    timesteps="torch.arange(n)", sigmas="torch.linspace(0, 1, n)", setter="def set_timesteps", target="clean.device"
):
    text = SCHEDULE.format(timesteps=timesteps, sigmas=sigmas, setter=setter, target=target)
    found = repeated_move(site_of(text, "self.timesteps.to(clean.device)"))
    return found.value.because if found is not None else None


def test_another_stays_on_the_host():
    because = moved()
    assert because is not None
    assert "; `set_timesteps` sets it anew" in because
    assert "`self.sigmas`, moved beside it, stays on the host" in because


@pytest.mark.parametrize(
    "changed",
    [
        {"timesteps": "torch.arange(n, device=given)"},
        {"timesteps": "given"},
        {"sigmas": "torch.linspace(0, 1, n, device=given)"},
        {"target": "noise.device"},
        {"setter": "def to"},
    ],
)
def test_nothing_says_that_it_is_there(changed):
    assert moved(**changed) is None
