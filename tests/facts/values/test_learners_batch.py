"""Batches and losses that callbacks of fastai ask their learner for."""

from __future__ import annotations

import pytest
from snippets import value_of

from torchperf_lint.facts.values.value import ANYWHERE

CODE = """
    {imports}

    class Mixed({base}):
        def before_batch(self):
            x = self.xb[0]
            y = self.learn.y
            size = self.n_epoch
            print(x, y, size)
    """
FASTAI = "from fastai.callback.core import Callback"


@pytest.mark.parametrize(
    ("imports", "base"), [(FASTAI, "Callback"), ("from fastai.basics import *", "TrackerCallback")]
)
def test_the_batch_of_the_learner(imports, base):
    code = CODE.format(imports=imports, base=base)
    for name in ("x", "y"):
        value = value_of(code, name)
        assert (value.kind, value.device) == ("tensor", ANYWHERE)
    assert value_of(code, "size").kind == "unknown"


@pytest.mark.parametrize(
    ("imports", "base"),
    [("from local import Callback", "Callback"), (FASTAI, "object"), ("from fastai.basics import *", "Transform")],
)
def test_other_classes_have_attributes_of_their_own(imports, base):
    code = CODE.format(imports=imports, base=base)
    assert value_of(code, "x").kind == "unknown"
