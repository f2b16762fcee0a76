"""A wait or copy within a backward pass, on the simulated device, says in the gradient of which operation it is."""

import pytest
from builders import watch

from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.waits import GRADIENT

SCRIPT = """
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        grad.sum().item()
        return 2 * grad


def again(x):
    x.sum().item()
    return x.exp()


model = nn.Linear(4, 4).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for step in range(6):
    optimizer.zero_grad()
    y = model(torch.randn(3, 4, device="cuda"))
    y.register_hook(lambda grad: print(grad.sum().item()))
    z = Doubled.apply(y) + checkpoint(again, y, use_reentrant=False)
    loss = torch.cumprod(z, 1).sum() + z.cpu().sum().cuda()
    loss.backward()
    optimizer.step()
"""
OWN_BACKWARD, AGAIN, HOOK, TO_HOST, BACKWARD = 14, 19, 28, 30, 31


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return watch(tmp_path_factory.mktemp("gradients"), SCRIPT, options=("--simulate",), name="products")


def test_what_autograd_computes_itself_is_named_and_nothing_else(ran):
    events = evidence_of([ran.record]).events
    by_line = {}
    for event in events:
        if event.kind in ("sync", "copy"):
            by_line.setdefault(event.line, set()).add(event.attributes.get(GRADIENT))
    assert by_line[BACKWARD] == {"cumprod", "to"}
    assert [by_line[line] for line in (OWN_BACKWARD, AGAIN, HOOK, TO_HOST)] == [{None}] * 4


def test_the_report_names_it_beside_the_line_of_the_backward_pass(ran):
    text = " ".join(ran.err.split())
    _, _, said = text.partition(f"products.py:{BACKWARD}: ")
    assert said
    assert "in the gradients of" in said
    assert f"`cumprod` (products.py:{TO_HOST})" in said
    assert f"`to` (products.py:{TO_HOST})" in said
