"""What a method of an object makes on the host, where only callers show of which class the object is."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.fresh import fresh_on_host

CODE = """
    class Flow:
        def draw_noise(self, batch):
            {draws}

    {more}

    def loss_of(flow):
        def loss(model, batch):
            noise = flow.draw_noise(batch).to(batch.device)
            return (model(batch) - noise).square().mean()
        return loss

    def main(model, loader: DataLoader, optimizer):
        loss_fn = loss_of(Flow())
        for x in loader:
            loss = loss_fn(model, x.cuda())
            loss.backward()
            optimizer.step()
    """


def factory(draws="return torch.randn(batch.shape) * 2.0", more="pass"):
    site = site_of(CODE.format(draws=draws, more=more), "flow.draw_noise(batch).to(batch.device)")
    found = fresh_on_host(site.file.project.values, site.call, site.frame)
    return found.factory if found is not None else None


def test_a_method_that_draws_on_the_host():
    assert factory() == "randn"
    assert factory("if batch.ndim == 4: return torch.zeros(batch.shape)\n            raise ValueError") == "zeros"


@pytest.mark.parametrize(
    "draws",
    [
        "return torch.randn_like(batch)",
        "return torch.randn(batch.shape, device=batch.device)",
        "return self.noise",
        "return torch.randn(batch.shape) if batch.ndim == 4 else self.noise",
    ],
)
def test_methods_that_may_do_otherwise(draws):
    assert factory(draws) is None


def test_a_class_below_that_draws_on_the_device():
    other = "class Fast(Flow):\n        def draw_noise(self, batch):\n            return torch.randn_like(batch)"
    assert factory(more=other) is None


def test_a_class_that_has_no_such_method():
    assert factory(more="class Flow:\n        pass") is None
