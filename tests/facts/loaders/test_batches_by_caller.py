"""Parameters that are a batch on the host for one of their callers."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.loaders import batch_copy

CODE = """
    class Net(nn.Module):
        def parse(self, x):
            return x.cuda()

        def answer(self, x):
            return self.parse(x)

    def train(net: Net, data, optimizer):
        loader = DataLoader(data, 8, num_workers=4)
        for x in loader:
            {trains}
            loss.backward()
            optimizer.step()

    def {other}
"""
DEBUG = "show(net: Net, z):\n        return net.parse(z.unsqueeze(0))"


def copied(trains="loss = net.parse(x).mean()", other=DEBUG):
    site = site_of(CODE.replace("{trains}", trains).replace("{other}", other), "x.cuda()")
    return batch_copy(site.file.project.values, site.call, site.frame)


@pytest.mark.parametrize("trains", ["loss = net.parse(x).mean()", "loss = net.answer(x).mean()"])
def test_what_the_training_loop_passes_is_its_batch(trains):
    found = copied(trains)
    assert found is not None
    assert found.because.startswith("passed by the call at a.py:")
    assert "a batch from a DataLoader" in found.because


def test_a_batch_that_is_on_the_device_already():
    assert copied("loss = net.parse(x.cuda(non_blocking=True)).mean()") is None


def test_a_name_that_is_bound_before_the_copy():
    site = site_of(
        CODE.replace("{trains}", "loss = net.parse(x).mean()")
        .replace("{other}", DEBUG)
        .replace("            return x.cuda()", "            x = x[0] if x else None\n            return x.cuda()"),
        "x.cuda()",
    )
    assert batch_copy(site.file.project.values, site.call, site.frame) is None
