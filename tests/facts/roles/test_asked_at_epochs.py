"""Metrics that are asked once an epoch, and those that are made for them."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.roles.asked_at_epochs import is_asked_at_epochs, is_made_for_such

SAMPLES = """\
class SizeMetric(torchmetrics.Metric):
    def update(self, samples):
        self.sizes += len(samples)

class SamplingMetrics(nn.Module):
    def __init__(self, sizes):
        self.sizes = SizeMetric(sizes)

    def forward(self, samples, {told}):
        self.sizes(samples)
        {after}

"""
COMPUTED = 'wandb.log({"sizes": self.sizes.compute()})'

OTHER = "class Other(nn.Module):\n    def __init__(self): self.m = SizeMetric(3)"


@pytest.mark.parametrize(
    ("told", "after", "elsewhere", "asked", "made"),
    [
        ("current_epoch", COMPUTED, "", True, True),
        ("name, epoch, rank", COMPUTED, "", True, True),
        ("log", COMPUTED, "", False, False),
        ("current_epoch", "pass", "", False, False),
        ("current_epoch", COMPUTED, "metric = SizeMetric(3)", True, False),
        ("current_epoch", COMPUTED, OTHER, True, False),
    ],
)
def test_what_is_told_the_epoch(told, after, elsewhere, asked, made):
    files = texts(SAMPLES.format(told=told, after=after) + elsewhere + "\n")
    index = Project.of_texts(files).index
    named = {record.name: Thing("class", "a.py", n) for n, record in enumerate(index.outlines["a.py"].classes)}
    assert is_asked_at_epochs(index, named["SamplingMetrics"]) is asked
    assert is_made_for_such(index, named["SizeMetric"]) is made
    assert not is_asked_at_epochs(index, named["SizeMetric"])
