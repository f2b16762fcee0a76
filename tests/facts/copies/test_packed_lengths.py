"""Lengths that another module packs sequences by."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.consequences import DECIDES, RECORDS, consequence

NETS = """
class Packing(nn.Module):
    def forward(self, x, lengths, mask=None):
        return nn.utils.rnn.pack_padded_sequence(x, {given})

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.packing = Packing()

    def forward(self, x: torch.Tensor, n: torch.Tensor):
        return {call}
"""


@pytest.mark.parametrize(
    ("call", "given", "then"),
    [
        ("self.packing(x, n.cpu())", "lengths", DECIDES),
        ("self.packing(x, lengths=n.cpu().numpy())", "lengths.tolist()", DECIDES),
        ("self.packing(x, n, n.cpu())", "lengths", RECORDS),
        ("self.packing(n.cpu(), n)", "lengths", RECORDS),
        ("self.packing(x, n.cpu())", "x.shape[0]", RECORDS),
        ("self.packing(n.cpu(), x)", "torch.full((x.size(0),), x.size(1))", RECORDS),
        ("self.packing(n.cpu(), x)", "x.shape[1:]", RECORDS),
        ("self.packing(x, n.cpu())", "lengths[1]", RECORDS),
        ("self.packing(n.cpu(), x)", "lengths.clamp(max=x.size(1))", RECORDS),
        ("self.packing(x, n.cpu())", "lengths.clamp(max=x.size(1))", DECIDES),
        ("other(x, n.cpu())", "lengths", RECORDS),
    ],
)
def test_lengths_handed_to_a_module(call, given, then):
    assert consequence(site_of(NETS.format(call=call, given=given), "n.cpu()")) == then
