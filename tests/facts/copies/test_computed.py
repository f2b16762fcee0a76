"""Tensors that are computed on the host over several statements, and what made their data."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.constants.configured import CONFIGURED, LITERAL
from torchperf_lint.facts.copies.computed import computed_fresh, computed_left_behind, computed_on_host, computed_upload

CALL = "k.to(x.device)"


def moved(body):
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return site_of(f"def f(x: torch.Tensor, a, n: int):\n{lines}\n    return {CALL}\n", CALL)


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("k = torch.tensor([1, 2])\nk = torch.outer(k, k)", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nif k.ndim == 1:\n    k = torch.outer(k, k)", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nk /= torch.sum(k)", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nk = -k * (n**2)", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nk = k / k.sum()", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nfor _ in range(n):\n    k = k * 2", ["[1, 2]"]),
        ("k = torch.tensor([1, 2])\nk = k * torch.tensor([3, 4])", ["[3, 4]", "[1, 2]"]),
        ("k = torch.tensor([1, 2])\nif n:\n    k = x", []),
        ("k = torch.tensor([1, 2], device=x.device)\nk = k * 2", []),
        ("k = x * 2", []),
        ("k = torch.tensor([1, 2])\nk.copy_(a)\nk = k * 2", []),  # data from elsewhere
        ("k = torch.tensor([1, 2])\nk[0] = n\nk = k * 2", []),
        ("h, k = torch.ones(2), torch.ones(3)\nk = k * h", ["2", "3"]),
        ("m = abs(a)\nk = torch.arange(m) + (x.size(0) - m)", ["m"]),
        ("k = torch.arange(n) + (x.size(0) - a)", []),  # data of a caller's
        ("h, k = torch.ones(2, 1), torch.ones(1, 3)\nk = torch.matmul(h, k)", ["1", "2"]),
        # CUDA has no kernels for products of integers
        ("h, k = torch.ones(2, 1, dtype=torch.int32), torch.ones(1, 3, dtype=torch.int32)\nk = torch.matmul(h, k)", []),
        ("h, k = torch.ones(2, 1, dtype=torch.int32), torch.ones(1, 3, dtype=torch.int32)\nk = h * k", ["1", "2"]),
    ],
)
def test_what_made_the_data(body, made):
    site = moved(body)
    found = computed_on_host(site.file.project.values, site.receiver, site.frame)
    assert ([ast.unparse(source.call.args[0]) for source in found.made] if found is not None else []) == made


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("k = torch.tensor([1, 2])\nk = torch.outer(k, k)", LITERAL),
        ("k = torch.tensor(a)\nk = torch.outer(k, k)", None),  # a step's own data
        ("k = torch.tensor(1.0) if n else torch.tensor(0.0)\nk = k.expand_as(x)", None),
        ("if n:\n    k = torch.tensor(1.0)\nelse:\n    k = torch.tensor(0.0)\nk = k.expand_as(x)", LITERAL),
        ("k = 0.5\nk = k if torch.is_tensor(k) else torch.tensor(k)\nk = k.expand_as(x)", LITERAL),
        ("k = 0.5\nk = torch.tensor(k) if not isinstance(k, torch.Tensor) else k\nk = k.expand_as(x)", LITERAL),
        ("k = a\nk = k if torch.is_tensor(k) else torch.tensor(k)\nk = k.expand_as(x)", None),
        ("k = 0.5\nk = a if torch.is_tensor(k) else torch.tensor(k)\nk = k.expand_as(x)", None),
        ("k = torch.ones(3)\nk = torch.outer(k, k)", None),  # a factory: made on the device as well
        ("k = torch.tensor([1, 2])", None),  # found without
    ],
)
def test_an_upload_of_it(body, kind):
    site = moved(body)
    found = computed_upload(site.file.project.values, site.call, site.frame)
    assert (found.kind if found is not None else None) == kind


HELPED = """
def kernel(n, gain=2.0):
    k = {made}
    k = k / k.sum()
    return k.view(1, -1).repeat(n, 1)

class Blur(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n
        self.held = torch.arange(n)

    def scaled(self, k):
        return torch.where(k < 3, k, torch.full_like(k, 2))

    def forward(self, x: torch.Tensor, given):
        k = {body}
        return k.to(x.device)
"""


@pytest.mark.parametrize(
    ("made", "body", "fresh", "upload", "held"),
    [
        ("torch.arange(n)", "kernel(self.n)", "arange", None, None),
        ("torch.tensor([1.0, gain])", "kernel(self.n)", None, CONFIGURED, None),
        ("torch.arange(n)", "self.scaled(torch.arange(3)[None] - torch.ones(3))", "ones", None, None),
        ("torch.arange(n)", "kernel(self.n) * self.held", None, None, "held"),
        ("torch.arange(n)", "kernel(self.n) * given", None, None, None),
        ("torch.arange(n).cuda()", "kernel(self.n)", None, None, None),
    ],
)
def test_helpers_and_attributes_are_followed(made, body, fresh, upload, held):
    site = site_of(HELPED.format(made=made, body=body), "k.to(x.device)")
    at = (site.file.project.values, site.call, site.frame)
    found, uploaded, left = computed_fresh(*at), computed_upload(*at), computed_left_behind(*at)
    assert (found.factory if found else None, uploaded.kind if uploaded else None, left.name if left else None) == (
        fresh,
        upload,
        held,
    )


@pytest.mark.parametrize(
    "body",
    [
        "k = torch.zeros(3, 4)\nfor i in range(4):\n    k[i, : i + 1] = 1",
        "k = torch.full((1, 4), -1.0)\nk[0][2] = 0.0",
        "k = torch.zeros(3, 4)\nk[:, 0::2] = torch.sin(torch.arange(2))",
        "k = torch.zeros(3)\nfor i, part in enumerate(a):\n    k[i] = 1",
        "if n:\n    k = torch.ones(n)\nelse:\n    k = torch.rand(n)",
        "k = torch.ones(n) > 3",
        "k = torch.zeros(3)\nk[:2] = x",
        "k = torch.zeros(3, 4)\nk[:, 0] = a",
        "k = torch.FloatTensor(n, 4).zero_()\nk = k.scatter_(1, a.cpu(), 1)",
        "k = torch.zeros(n, 4)\nk.scatter_(1, a.cpu(), 1)",
    ],
)
def test_what_is_filled_in_alike_at_every_step_is_fresh(body):
    site = moved(body)
    assert computed_fresh(site.file.project.values, site.call, site.frame) is not None


@pytest.mark.parametrize(
    "body",
    [
        "k = torch.zeros(3, 4)\nfor i, length in enumerate(a):\n    k[i, :length] = 1",
        "k = torch.zeros(3)\nk[0] = a",
        "k = torch.zeros(3)\nk[a] = 1",
        'k = torch.arange(n, device="cpu")\nk = k / 2',
    ],
)
def test_what_the_step_fills_in_is_its_own(body):
    site = moved(body)
    assert computed_fresh(site.file.project.values, site.call, site.frame) is None
