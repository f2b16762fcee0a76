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


PAIRS = """
def evaluate(model, data, device, names):
    for batch in DataLoader(data, num_workers=4):
        parts = [part.to(device) for part in batch]
        held = {made}
        labels = held.get("labels")
        labels.shape
"""


@pytest.mark.parametrize(
    "made",
    [
        "dict(zip(names, parts))",
        'dict([("labels", part) for part in parts])',
        '{"labels": parts[0]}',
    ],
)
def test_pairs_make_a_dict_of_what_comes_second(made):
    value = value_of(PAIRS.format(made=made), "labels")
    assert (value.kind, value.device) == ("tensor", DEVICE)


@pytest.mark.parametrize(
    "made", ["dict(zip(parts, names))", "dict(names)", 'dict([("labels", name) for name in names])']
)
def test_pairs_of_anything_else_say_nothing(made):
    assert value_of(PAIRS.format(made=made), "labels").kind == "unknown"


OWN_BAR = """
class {name}:
    def __init__(self, iterable, desc=""):
        self.iterable = iterable
        self.shown = 0

    def __iter__(self):
        for one in self.__dict__["iterable"]:
            yield one
            self.shown += 1

def evaluate(model, data):
    for batch in {name}(DataLoader(data, num_workers=4), desc="evaluate"):
        batch.shape
"""


def test_a_copy_of_tqdm_hands_on_what_it_is_given():
    assert value_of(OWN_BAR.format(name="tqdm"), "batch").kind == "batch"


def test_another_class_may_do_anything_with_it():
    assert value_of(OWN_BAR.format(name="Folded"), "batch").kind == "unknown"


@pytest.mark.parametrize(("asked", "kind"), [("captions", "unknown"), ("pdb_id", "unknown"), ("mask", "batch")])
def test_attributes_of_a_batch_may_be_texts_by_their_names(asked, kind):
    step = f"""
        from lightning import LightningModule

        class Task(LightningModule):
            def training_step(self, batch, batch_idx):
                found = batch.{asked}
                found.show()
    """
    assert value_of(step, f"batch.{asked}").kind == kind
