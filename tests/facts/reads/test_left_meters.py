"""Meters that nothing in a project calls, and that ask whether they get tensors."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.left_meters import as_users_pay
from torchperf_lint.facts.reads.reads import item_readings
from torchperf_lint.model import Confidence

METER = """
    class {name}:
        def {method}(self, **kwargs):
            for k, v in kwargs.items():
                if isinstance(v, torch.Tensor):
                    v = v.item()
                self.meters[k] += v

        def global_avg(self):
            return self.meters

    def main(model: nn.Module, loader, optimizer, meters: {name}):
        for step, x in enumerate(loader):
            model(x.cuda()).mean().backward()
            optimizer.step()
            {call}
"""


def sure(name="MetricLogger", method="update", call="pass"):
    files = texts(METER.format(name=name, method=method, call=call))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    found = [as_users_pay(file, reading).read for reading in item_readings(file)]
    return [max((read.value.confidence, read.hot.confidence), key=lambda c: c.rank) for read in found]


def test_who_takes_a_meter_up_hands_tensors_over():
    assert sure() == [Confidence.LIKELY]


@pytest.mark.parametrize(
    "case",
    [
        {"call": "meters.update(rate=step * 0.1, other=unknown(step))"},
        {"name": "Store"},
        {"method": "keep"},
    ],
)
def test_others_stay_as_they_were(case):
    assert all(confidence is Confidence.POSSIBLE for confidence in sure(**case))
