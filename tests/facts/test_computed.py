"""Tensors that are computed on the host over several statements, and what made their data."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.computed import computed_on_host, computed_upload
from torchperf_lint.facts.constants import LITERAL

CALL = "k.to(x.device)"


def moved(body):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return site_of(f"def f(x: torch.Tensor, a, n: int):\n{lines}\n    return {CALL}\n", CALL)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("k = torch.tensor([1, 2])\nk = torch.outer(k, k)", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nif k.ndim == 1:\n    k = torch.outer(k, k)", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nk /= torch.sum(k)", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nk = -k * (n**2)", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nk = k / k.sum()", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nfor _ in range(n):\n    k = k * 2", "[1, 2]"),
        ("k = torch.tensor([1, 2])\nk = k * torch.tensor([3, 4])", None),  # of two calls neither made it
        ("k = torch.tensor([1, 2])\nif n:\n    k = x", None),
        ("k = torch.tensor([1, 2], device=x.device)\nk = k * 2", None),
        ("k = x * 2", None),
    ],
)
def test_what_made_the_data(body, made):
    site = moved(body)
    found = computed_on_host(site.file.project.values, site.receiver, site.frame)
    assert (ast.unparse(found.call.args[0]) if found is not None else None) == made


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("k = torch.tensor([1, 2])\nk = torch.outer(k, k)", LITERAL),
        ("k = torch.tensor(a)\nk = torch.outer(k, k)", None),  # a step's own data
        ("k = torch.ones(3)\nk = torch.outer(k, k)", None),  # a factory: made on the device as well
        ("k = torch.tensor([1, 2])", None),  # found without
    ],
)
def test_an_upload_of_it(body, kind):
    site = moved(body)
    found = computed_upload(site.file.project.values, site.call, site.frame)
    assert (found.kind if found is not None else None) == kind
