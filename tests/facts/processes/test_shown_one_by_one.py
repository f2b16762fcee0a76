"""Collectives on detached copies that nothing but a log reads."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.shown_one_by_one import shown_one_by_one

STEP = """\
import torch.distributed as dist

class Detector(nn.Module):
    def parse(self, losses, log):
        total = sum(losses.values())
        for name, value in losses.items():
            {copies}
            {exchanges}
            {reads}
        return total, log

    def train_step(self, data, optimizer):
        loss, log = self.parse(self(**data), {{}})
        return dict(loss=loss, log=log)
"""


def shown(
    copies="value = value.data.clone()", exchanges="dist.all_reduce(value.div_(n))", reads="log[name] = value.item()"
):
    files = texts(STEP.format(copies=copies, exchanges=exchanges, reads=reads))
    return [found.about for found in shown_one_by_one(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))]


@pytest.mark.parametrize(
    "copies", ["value = value.data.clone()", "value = value.detach()", "value = value.detach() / 2"]
)
@pytest.mark.parametrize("exchanges", ["dist.all_reduce(value)", "dist.reduce(value.div_(n), 0)"])
@pytest.mark.parametrize(
    "reads", ["log[name] = value.item()", "log.append(float(value))", "read = value.item(); log[name] = read"]
)
def test_what_only_a_log_reads(copies, exchanges, reads):
    assert shown(copies, exchanges, reads) == ["value"]


def test_a_copy_where_there_are_several_processes():
    exchanges = "if dist.is_initialized():\n                value = value.detach(); dist.all_reduce(value)"
    assert shown("pass", exchanges) == ["value"]


@pytest.mark.parametrize(
    "given",
    [
        {"copies": "value = value.mean()"},
        {"copies": "pass"},
        {"reads": "total = total + value"},
        {"reads": "log[name] = value"},
        {"reads": "if value.item() > 3: break"},
        {"reads": "read = value.item()\n            if read > 3: break"},
        {"reads": "pass"},
        {"exchanges": "self.all_reduce(value)"},
    ],
)
def test_what_something_else_takes(given):
    assert not shown(**given)
