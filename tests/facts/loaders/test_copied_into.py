"""Batches that are copied into a tensor on the device."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.copied_into import batch_copied_into

CODE = """
    from torch.autograd import Variable

    def train(model, data, optimizer, cuda, {given}):
        loader = DataLoader(data, 8, num_workers=4)
        buffer = {buffer}
        for x, y in loader:
            {turn}
            loss = model(buffer).mean()
            loss.backward()
            optimizer.step()
"""
THERE = 'torch.zeros(8, 3, device="cuda")'
HERE = "torch.zeros(8, 3)"
ONCE = "buffer.copy_(x)"


def copied(call, buffer=THERE, turn=ONCE, given="_=0", before=""):
    code = CODE.replace("{buffer}", buffer).replace("{turn}", turn).replace("{given}", given) + before
    site = site_of(code, call)
    return batch_copied_into(site.file.project.values, site.call, site.frame)


@pytest.mark.parametrize(
    "buffer",
    [
        THERE,
        "torch.zeros(8, 3).cuda()",
        "torch.zeros(8, 3)\n        if cuda:\n            buffer = buffer.cuda()",
        "torch.zeros(8, 3)\n        if cuda:\n            buffer = buffer.cuda()\n        buffer = Variable(buffer)",
    ],
)
@pytest.mark.parametrize("call", ["buffer.copy_(x)", "buffer.data.resize_(x.size()).copy_(x)"])
def test_a_batch_goes_into_a_buffer_on_the_device(buffer, call):
    found = copied(call, buffer, call)
    assert found is not None
    assert "a batch from a DataLoader" in found.because


@pytest.mark.parametrize(
    ("buffer", "turn"),
    [
        (HERE, ONCE),
        ("torch.zeros(8, 3).pin_memory()", ONCE),
        (THERE, "x = x.cuda(non_blocking=True)\n            buffer.copy_(x)"),
        (THERE, "x = model.noise\n            buffer.copy_(x)"),
        ("model.buffer", ONCE),
    ],
)
def test_what_crosses_no_bus_or_is_not_known_to(buffer, turn):
    assert copied("buffer.copy_(x)", buffer, turn) is None


HELPER = """
    def fill(into, data):
        into.data.resize_(data.size()).copy_(data)
"""
INSIDE = "into.data.resize_(data.size()).copy_(data)"


@pytest.mark.parametrize("turn", ["fill(buffer, x)", "fill(buffer, x)\n            fill(lengths, y)"])
def test_a_helper_that_is_given_both(turn):
    found = copied(INSIDE, turn=turn, given="lengths=torch.zeros(8)", before=HELPER)
    assert found is not None
    assert found.because.startswith("passed by the call at a.py:")


@pytest.mark.parametrize(
    "turn",
    [
        "fill(lengths, x)",
        "fill(lengths, x)\n            fill(buffer, x.cuda(non_blocking=True))",
        "buffer = x.cuda(non_blocking=True)",
    ],
)
def test_a_helper_that_no_call_gives_both(turn):
    other = "\n    def prepare(data):\n        fill(torch.zeros(8, 3).cuda(), data)\n"
    assert copied(INSIDE, turn=turn, given="lengths=torch.zeros(8)", before=HELPER + other) is None
