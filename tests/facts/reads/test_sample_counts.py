"""Reads of how many samples a batch has, of the index of each row's sample."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.reads.sample_counts import counts_samples

CODE = """
def forward(self, x, batch, idx_m, index, lengths, size=None):
    {line}
    return scatter(x, batch, dim_size=n)
"""


@pytest.mark.parametrize(
    ("line", "read", "told"),
    [
        ("n = int(idx_m[-1]) + 1", "int(idx_m[-1])", True),
        ("n = 1 + int(batch.max())", "int(batch.max())", True),
        ("n = int(x.batch[-1].item()) + 1", "x.batch[-1].item()", True),
        ("n = batch.max().item() + 1", "batch.max().item()", True),
        ("n = index.max().item() + 1", "index.max().item()", False),
        ("n = lengths.max().item() + 1", "lengths.max().item()", False),
        ("n = batch.max().item() + 2", "batch.max().item()", False),
        ("n = batch[0].item() + 1", "batch[0].item()", False),
        ("n = int(batch.max(0)) + 1", "int(batch.max(0))", False),
        ("n = batch.max().item()", "batch.max().item()", False),
        ("n = batch.max().item() + 1 if size is None else size", "batch.max().item()", False),
    ],
)
def test_a_count_that_the_host_knew(line, read, told):
    assert counts_samples(site_of(CODE.format(line=line), read)) is told
