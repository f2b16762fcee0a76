"""Copies of an index of the host that a backward pass makes again: known as such, told with the line that indexes."""

from dataclasses import replace

import pytest
from builders import watch
from runs import copy, finding, report, run, sync

from torchperf_lint.reporters import View, render_run
from torchperf_lint.runtime.reading import evidence_of
from torchperf_lint.verdict import judged, unfound
from torchperf_lint.waits import OF_INDEX

SCRIPT = """
import torch
from torch import nn


class Margin(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(4, 4)

    def forward(self, x, labels):
        cosine = self.proj(x)
        return cosine[torch.arange(x.size(0)), labels]


model = Margin().cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.1)
labels = torch.zeros(3, dtype=torch.long, device="cuda")
for step in range(6):
    optimizer.zero_grad()
    loss = model(torch.randn(3, 4, device="cuda"), labels).sum()
    loss.backward()
    late = torch.zeros(1).to("cuda")
    optimizer.step()
"""
INDEXING, BACKWARD, LATE = 13, 22, 23


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    return watch(tmp_path_factory.mktemp("gradients"), SCRIPT, options=("--simulate",), name="margin")


def test_a_copy_of_the_gradient_is_known_as_one_and_no_other(ran):
    events = evidence_of([ran.record]).events
    again = {(event.line, event.kind, event.count) for event in events if event.attributes.get(OF_INDEX)}
    assert again == {(BACKWARD, "copy", 6), (BACKWARD, "sync", 6)}
    assert {event.origin.shown for event in events if event.attributes.get(OF_INDEX)} == {("margin.py", INDEXING)}
    assert {INDEXING, LATE} <= {event.line for event in events if not event.attributes.get(OF_INDEX)}


def test_the_backward_pass_is_told_with_the_finding_and_is_no_line_of_its_own(ran):
    text = " ".join(ran.err.split())
    assert "TPL111" in text
    assert "its gradient copies the index again, 1 a step" in text
    assert "for all such lines" not in text
    assert f"margin.py:{BACKWARD}" not in text
    assert f"margin.py:{LATE}" in text


AGAIN = [replace(event, attributes={**event.attributes, OF_INDEX: True}) for event in (copy(40), sync(40, "copy"))]


def test_where_no_finding_indexes_the_line_says_what_is_copied():
    evidence = run(events=AGAIN, simulated=True, device="simulated")
    missed = unfound([finding(25)], evidence, ("sync", "copy"))
    text = " ".join(render_run("full", report(evidence, unfound=missed), View(width=120)).split())
    assert "train.py:40: copy to the device (of an index of the host, for its gradient), 1 a step" in text


def test_a_finding_that_did_not_happen_says_nothing_of_gradients():
    evidence = run(events=AGAIN, simulated=True, device="simulated")
    (one,) = judged([replace(finding(25), code="TPL111")], evidence)
    assert one.verdict is not None
    assert "gradient" not in one.verdict.reason
