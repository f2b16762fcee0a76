"""Why a line is hot, in words."""

from __future__ import annotations

import pytest
from snippets import hot_at

STEP = """
from lightning import LightningModule

class M(LightningModule):
    def training_step(self, batch):
        if {test}:
            self.tell(batch)
        return self.net(batch)

    def tell(self, batch):
        print(batch)  # <-
"""


@pytest.mark.parametrize(
    ("test", "evaluates", "often"),
    [("self.training", False, "every training step"), ("not self.training", True, "every evaluation batch")],
)
def test_what_only_evaluation_gets_to_is_no_training_step(test, evaluates, often):
    hot = hot_at(STEP.replace("{test}", test))
    assert hot.evaluates is evaluates
    assert hot.when.startswith(often)
