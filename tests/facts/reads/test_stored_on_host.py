"""Device tensors that each turn of a loop stores into a tensor on the host."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.stored_on_host import host_stores

SAMPLER = """
import torch
from torch import nn

@torch.no_grad()
def sample(model: nn.Module, steps: int):
    x = torch.randn(8, device="cuda")
    chain = {made}
    for i in range(steps):
        x = model(x)
        {stored}
    return chain
"""


def stores(made: str = "torch.zeros(steps, 8)", stored: str = "chain[i] = x") -> list[tuple[str, int]]:
    text = SAMPLER.format(made=made, stored=stored)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    return [(store.base.id, store.made) for store in host_stores(file)]


def test_a_store_into_a_host_tensor_is_found_with_the_line_that_made_it():
    assert stores() == [("chain", 8)]
    assert stores(stored="chain[i] = x[:4]") == [("chain", 8)]


@pytest.mark.parametrize(
    ("made", "stored"),
    [
        ("torch.zeros(steps, 8, device=x.device)", "chain[i] = x"),
        ("torch.zeros(steps, 8, device='cpu')", "chain[i] = x"),  # somebody chose it
        ("torch.zeros(steps, 8, pin_memory=True)", "chain[i] = x"),
        ("[None] * steps", "chain[i] = x"),
        ("torch.zeros(steps, 8)", "chain[i] = 0.5"),
        ("torch.zeros(steps, 8)", "if i % 100 == 0:\n            chain[i] = x"),
        ("torch.zeros(steps, 8)", "chain = x"),
    ],
)
def test_other_stores_are_not(made, stored):
    assert stores(made, stored) == []
