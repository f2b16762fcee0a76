"""Dicts that are made of keywords, and what a loop over the entries of a dict gets."""

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE, HOST

STEP = """
from collections import OrderedDict
from easydict import EasyDict
from somewhere import Config

def train(model, data, device):
    for x, y in DataLoader(data, num_workers=4):
        held = {made}
        for name, part in held.items():
            part.shape
"""


@pytest.mark.parametrize(
    "made",
    [
        "dict(x=x, y=y)",
        "OrderedDict(x=x, y=y)",
        "EasyDict(x=x, y=y)",
        "dict(x=x, noise=torch.randn(3, 4))",
        '{"x": x, "noise": torch.randn(3, 4)}',
        '{"noise": torch.randn(3, 4), "x": x}',
    ],
)
def test_entries_are_parts_of_the_batch(made):
    value = value_of(STEP.format(made=made), "part")
    assert (value.kind, value.device) == ("batch", HOST)
    assert len(value.origins) == 1


@pytest.mark.parametrize(
    "made",
    [
        "dict(x=x, moved=y.to(device))",  # of two places
        '{"x": x, "moved": y.to(device)}',
        "dict(x=x.to(device), moved=y.to(device))",
        "dict(noise=torch.randn(3, 4))",
        "dict(x=x, **model.options)",
        "dict(x=x, other=model.other)",
        "dict(model.pairs, x=x)",
        "Config(x=x, y=y)",  # whatever that makes
    ],
)
def test_others_are_not(made):
    assert value_of(STEP.format(made=made), "part").kind != "batch"


def test_entries_of_keywords_are_known_by_name():
    code = STEP.format(made="dict(x=x, moved=y.cuda())").replace("part.shape", 'held["moved"], held["x"]')
    assert value_of(code, 'held["moved"]').device == DEVICE
    assert value_of(code, 'held["x"]').device == HOST


def test_a_dict_that_begins_with_numbers_holds_what_is_put_into_it():
    code = STEP.format(made="dict(count=0)\n        held['loss'] = model(x.cuda()).mean()")
    assert value_of(code.replace("part.shape", 'held["loss"]'), 'held["loss"]').kind == "tensor"
