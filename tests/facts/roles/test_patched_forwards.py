"""Functions that are put in the place of a module's `forward`."""

from __future__ import annotations

import pytest
from snippets import hot_at

CODE = """
    import functools
    import types

    def counted(self, hidden, mask):
        torch.cuda.synchronize()  # <-
        return self.inner(hidden, mask)

    def wrap(model, layer):
        {patch}
        return counted, model
"""


@pytest.mark.parametrize(
    ("patch", "when"),
    [
        ("model.layers[0].attn.forward = types.MethodType(counted, layer)", "in every forward pass"),
        ("layer.forward = counted.__get__(layer)", "in every forward pass"),
        ("layer.forward = functools.partial(counted, layer)", "in every forward pass"),
        ("nn.Linear.forward = counted", "in every forward pass"),
        ("layer.reset = types.MethodType(counted, layer)", None),
        ("layer.forward = made(counted, layer)", None),
        ("layer.forward = types.MethodType(model.forward, counted)", None),
    ],
)
def test_what_takes_the_place_of_a_forward_is_one(patch, when):
    hot = hot_at(CODE.replace("{patch}", patch))
    assert (hot and hot.when.partition(" (")[0]) == when
    assert hot is None or "is put in the place of a module's `forward` (a.py:16)" in hot.because
