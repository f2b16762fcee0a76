"""What a method of a model gives that a dict of tensors is spread over: `model.generate(**inputs)`."""

from __future__ import annotations

import pytest
from snippets import value_of

CODE = """
def answer(model, processor, texts, device):
    given = processor(texts)
    inputs = {name: entry.to(device) for name, entry in given.items()}
    sizes = {name: len(entry) for name, entry in given.items()}
    outputs = model.{call}
    return outputs
"""


@pytest.mark.parametrize("call", ["generate(**inputs)", "generate(**inputs, max_new_tokens=8)", "encode(**inputs)"])
def test_what_is_spread_over_a_model_tells_what_it_gives(call):
    found = value_of(CODE.replace("{call}", call), "outputs")
    assert (found.kind, found.device) == ("tensor", "device")


@pytest.mark.parametrize("call", ["generate(**sizes)", "generate(inputs=inputs)", "check(**inputs)"])
def test_numbers_and_what_keeps_a_dict_tell_nothing(call):
    assert value_of(CODE.replace("{call}", call), "outputs").kind != "tensor"
