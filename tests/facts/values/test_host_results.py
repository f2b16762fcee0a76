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


@pytest.mark.parametrize(
    ("promised", "kind"),
    [
        ("Optional[int]", "plain"),
        ("Union[int, None]", "plain"),
        ('"typing.Union[int, float]"', "plain"),
        ("list[int]", "sequence"),
        ("Optional[List[int]]", "sequence"),
        ("tuple[int, None]", "sequence"),
    ],
)
def test_a_number_or_none_is_no_container(promised, kind):
    code = f"def place(x) -> {promised}:\n    return x.place\n\n\ndef use(x):\n    y = place(x)\n    return y\n"
    assert value_of(code, "y").kind == kind
