"""Metrics that are computed for each batch."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.metric_syncs import computed_each_batch

MODULE = """\
import torchmetrics
from lightning import LightningModule

class Wrong(torchmetrics.Metric):
    def compute(self):
        return self.wrong

class Model(LightningModule):
    def __init__(self, table):
        super().__init__()
        self.known, self.own, self.table = torchmetrics.Accuracy("binary"), Wrong(), table

    def {name}(self, batch, batch_idx):
        {body}
"""


@pytest.mark.parametrize(
    ("name", "body", "count"),
    [
        ("validation_step", "self.log('a', self.known.compute())", 1),
        ("validation_step", "self.log('a', self.own.compute())", 1),
        ("training_step", "self.log('a', self.own.compute())", 1),
        ("validation_step", "self.log('a', self.own)", 0),
        ("validation_step", "self.log('a', self.table.compute())", 0),
        ("validation_step", "self.log('a', self.own.compute()); self.own.reset()", 0),
        ("validation_step", "return self.own.compute()", 0),
        ("on_validation_epoch_end", "self.log('a', self.own.compute())", 0),
    ],
)
def test_what_a_step_logs(name, body, count):
    files = texts(MODULE.format(name=name, body=body))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert len(list(computed_each_batch(file))) == count
