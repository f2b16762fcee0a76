"""A batch that is put into a list where it is none yet stays a batch: its parts are those of the loader."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.loaders import batch_copy

CODE = """
    def train(data, model, optimizer):
        for parts, target in DataLoader(data, 8, num_workers=4):
            {wraps}
            {moves}
            loss = model(*parts).mean()
            loss.backward()
            optimizer.step()
    """


def copied(wraps, moves="parts = tuple(p.cuda() for p in parts)", call="p.cuda()"):
    site = site_of(CODE.format(wraps=wraps, moves=moves), call)
    return batch_copy(site.file.project.values, site.call, site.frame)


@pytest.mark.parametrize(
    "wraps",
    [
        "if not type(parts) in (tuple, list): parts = (parts,)",
        "if type(parts) is not list: parts = [parts]",
        "if not isinstance(parts, (list, tuple)): parts = [parts, target]",
        "parts = parts if isinstance(parts, list) else [parts]",
        "parts = [parts]",
    ],
)
def test_what_a_test_puts_into_a_list_is_of_the_batch_still(wraps):
    found = copied(wraps)
    assert found is not None
    assert found.origins
    at_once = copied(wraps, "for i in range(len(parts)): parts[i] = parts[i].cuda()", "parts[i].cuda()")
    assert at_once is not None


@pytest.mark.parametrize(
    "wraps",
    [
        "if type(parts) is not list: parts = [parts.cuda(non_blocking=True)]",
        "if type(parts) is not list: parts = [model.prior]",
        "if type(parts) is not list: parts = []",
    ],
)
def test_lists_of_something_else(wraps):
    assert copied(wraps) is None
