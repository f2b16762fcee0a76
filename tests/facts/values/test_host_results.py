"""What unknown code makes of host tensors alone is on the host."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import HOST

CODE = """
def f(pipe, latents, other, device):
    there = other.cuda()
    for t in pipe.timesteps:
        x = {}
        y = x.cpu().numpy()
        print(x)
"""


@pytest.mark.parametrize(
    ("made", "host"),
    [
        ("pipe.scheduler.scale(torch.from_numpy(latents), t)", True),
        ("pipe.scheduler.scale(torch.zeros(3), 4)", True),
        ("pipe.scheduler.scale(other, t)", False),
        ("pipe.scheduler.scale(torch.from_numpy(latents).to(device), t)", False),
        ("pipe.scheduler.scale(torch.from_numpy(latents), there * 2)", False),
        ("pipe.scheduler.scale(t)", False),
    ],
)
def test_an_unknown_function_of_host_tensors(made, host):
    found = value_of(CODE.format(made), "x")
    assert found.kind == "tensor"
    assert (found.device == HOST) is host
