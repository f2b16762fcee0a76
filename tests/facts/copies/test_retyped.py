"""Types of the host that take a tensor down which is uploaded again."""

from __future__ import annotations

import ast

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.retyped import dtype_of_retyped, retyped

CODE = """
    Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor

    def train(model, optimizer, device, lengths):
        for _ in range(100):
            x = torch.randn(8, 4, device="cuda")
            kept = {made}
            loss = (model(x) * {used}).sum()
            loss.backward()
            optimizer.step()
    """


def taken_down(made, used="kept.to(x.device)", call=None):
    site = site_of(CODE.format(made=made, used=used), call or made)
    found = retyped(site)
    return (ast.unparse(found), dtype_of_retyped(site)) if found is not None else None


@pytest.mark.parametrize("used", ["kept.to(x.device)", "kept.cuda()", "kept.unsqueeze(0).to(device)"])
def test_what_goes_up_again(used):
    assert taken_down("(x < 0.5).type(torch.FloatTensor)", used) == ("x < 0.5", "torch.float")
    assert taken_down("x.type('torch.LongTensor')", used) == ("x", "torch.long")


def test_in_one_expression():
    made = "x.type(torch.ByteTensor)"
    assert taken_down(f"{made}.cuda()", "kept", made) == ("x", "torch.uint8")


def test_what_stays_on_the_host():
    assert taken_down("x.type(torch.FloatTensor)", "kept.mean().item()") is None


@pytest.mark.parametrize(
    "made",
    [
        "x.type(torch.float)",
        "x.type(torch.cuda.FloatTensor)",
        "x.type(Tensor)",
        "x.type(x.type())",
        "torch.ones(8, 4).type(torch.FloatTensor)",
        "lengths.type(torch.FloatTensor)",
    ],
)
def test_types_of_the_device_and_tensors_of_the_host(made):
    assert taken_down(made) is None
