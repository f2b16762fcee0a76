"""Numbers of loops inside a step are the same at every step."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.constants import constancy

CODE = """
import itertools


def next_token(model, x):
    return model(x).argmax(-1)


@torch.inference_mode()
def generate(model: nn.Module, x: torch.Tensor, max_new_tokens: int, rows: list[int], sizes=(1, 2)):
    seen = 0
    for step in range(2, max_new_tokens):
        x = next_token(model, x)
        seen += 1
        for layer in range(7):
            for row in rows:
                for pair in itertools.product(range(2), repeat=layer):
                    torch.tensor({data}, device=x.device)
"""


def kind(data):
    site = site_of(CODE.format(data=data), f"torch.tensor({data}, device=x.device)")
    return constancy(site.file.project.values, site.call.args[0], site.frame)


@pytest.mark.parametrize("data", ["[layer, 3]", "pair", "[4097 + layer * 4160]", "[sizes[0], layer]"])
def test_what_a_loop_inside_counts_is_the_same_at_every_step(data):
    assert kind(data) is not None


@pytest.mark.parametrize("data", ["[step, 3]", "[seen, layer]", "[row, layer]", "[layer + step]"])
def test_what_the_loop_of_steps_counts_is_not(data):
    assert kind(data) is None
