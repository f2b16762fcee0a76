"""Loops of training that a library offers for whatever data set somebody has, and for no number of workers."""

from __future__ import annotations

import pytest
from calls_in import site_of

from torchperf_lint.facts.loaders.any_data_set import takes_any_data_set

CALL = "DataLoader(data, shuffle=True)"


def told(signature, before="pass", after="", call=CALL):
    code = f"from torch.utils.data import Dataset\n\ndef fit({signature}):\n    {before}\n    return {call}\n{after}"
    site = site_of(code, call)
    return takes_any_data_set(site.file.project, site.call.args[0], site.frame)


@pytest.mark.parametrize("signature", ["net, data: Dataset", "net, data: Dataset | None = None, batch_size: int = 2"])
def test_nobody_can_ask_for_workers(signature):
    assert told(signature) == "`fit` takes any data set as `data`, and no number of workers"


@pytest.mark.parametrize(
    "signature",
    [
        "net, data",
        "net, data: list",
        "net, data: Dataset | DataLoader",
        "net, data: Dataset, num_workers=2",
        "net, data: Dataset, loader=None",
        "net, data: Dataset, val_dl=None",
        "net, data: Dataset, config=None",
        "net, data: Dataset, **more",
    ],
)
def test_who_calls_may_choose(signature):
    assert told(signature) is None


def test_data_sets_that_the_project_knows():
    assert told("net, data: Dataset", before="data = Pictures()") is None
    assert told("net, data: Dataset", after="\nfit(net, Pictures())\n") is None
    assert told("net, val_data: Dataset", call="DataLoader(val_data)") is None
