"""What `next` of something that nobody can see gives, by the names that it is bound to."""

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import DEVICE, HOST

LOOP = """
class Loop:
    def __init__(self, data):
        self.data = data

    def run(self):
        {taken}
        self.step({read})
"""


def taken(line, read):
    return value_of(LOOP.format(taken=line, read=read), read)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("batch, cond = next(self.data)", "batch"),
        ("batch, cond = next(self.data)", "cond"),
        ("cond, batch = next(self.data)", "cond"),
        ("images, labels = next(self.data)", "labels"),
        ("batch, (cond, mask) = next(self.data)", "mask"),
    ],
)
def test_what_is_unpacked_beside_a_batch_is_of_it(line, read):
    value = taken(line, read)
    assert (value.kind, value.device) == ("batch", HOST)


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("x, cond = next(self.data)", "cond"),  # nothing says that these are batches
        ("batch, batch_idx = next(self.data)", "batch_idx"),  # its number
        ("step, batch = next(self.data)", "step"),
        ("batch = next(self.data)\n        cond = next(self.conditions)", "cond"),  # of two things
        ("batch, cond = self.data.draw()", "cond"),
        ("images, grads = next(self.net.parameters())", "grads"),
    ],
)
def test_others_are_not(line, read):
    assert taken(line, read).kind != "batch"


def test_it_is_where_accelerate_puts_the_batch():
    prepares = "self.loader = accelerator.prepare_data_loader(self.data)\n        batch, cond = next(self.batches)"
    assert taken(prepares, "cond").device == DEVICE


def test_rows_side_by_side_are_rows_though_one_tensor_is_longer():
    code = """
    from itertools import zip_longest

    def f(x: torch.Tensor, names: list[str]):
        for row, name in zip_longest(x, names):
            return row
    """
    assert value_of(code, "row").kind == "tensor"
