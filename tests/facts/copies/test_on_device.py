"""Whether reading a value may wait for an accelerator."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.copies.on_device import on_device

CODE = """
    def train(model, optimizer, loader, device, on_gpu):
        model.to(device)
        for batch in loader:
            loss = model(batch.to(device)).sum()
            loss.backward()
            optimizer.step()
            counted = torch.ones(3)
            {line}
            shown = {read}.item()
    """


def waits_for(read, line="pass"):
    site = site_of(CODE.format(line=line, read=read), f"{read}.item()")
    return on_device(site.file, site, site.receiver) is not None


@pytest.mark.parametrize("line", ["pass", "loss = loss * 2"])
def test_what_a_model_gives(line):
    assert waits_for("loss", line)


@pytest.mark.parametrize(("read", "line"), [("counted", "pass"), ("loss", "loss = loss.cpu()")])
def test_what_is_on_the_host(read, line):
    assert not waits_for(read, line)


def test_what_a_branch_may_have_copied_by_now():
    assert not waits_for("loss", "if on_gpu: loss = loss.cpu()")
