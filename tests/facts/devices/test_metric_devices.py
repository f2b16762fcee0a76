"""Metrics whose device is the host unless somebody gives another one."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.host_copies import host_copies

BASE = """\
class Metric:
    def __init__(self, output_transform=None, device={default}):
        self.dev = {kept}
        self.reset()

    def reset(self):
        self.total = 0
"""
OWN = """\
class Mean(Metric):
    def update(self, output: tuple[torch.Tensor, torch.Tensor]):
        y_pred, y = output
        self.total += (y_pred - y).abs().sum().to(self.{attribute})
"""
IGNITE = """\
from ignite.metrics import Metric

class Mean(Metric):
    def __init__(self, output_transform=lambda x: x, device={default}):
        super().__init__(output_transform, device=device)

    def update(self, output: tuple[torch.Tensor, torch.Tensor]):
        y_pred, y = output
        self.total += (y_pred - y).abs().sum().to(device=self._device)
"""
TRAIN = """\

def train(net: nn.Module, loader: DataLoader):
    metric = Mean({given})
    for x, y in loader:
        metric.update((net(x.cuda()), y.cuda()))
"""


def copies(code):
    files = texts(code)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return sum(copy.reading.site.record.callee.endswith(".to") for copy in host_copies(file))


@pytest.mark.parametrize("default", ["'cpu'", "torch.device('cpu')"])
@pytest.mark.parametrize("kept", ["device", "torch.device(device)"])
def test_the_default_is_the_host(default, kept):
    base = BASE.format(default=default, kept=kept)
    assert copies(base + OWN.format(attribute="dev") + TRAIN.format(given="")) == 1


@pytest.mark.parametrize("given", ["device=torch.device('cuda')", "None, net.device"])
def test_the_project_gives_another_one(given):
    base = BASE.format(default="'cpu'", kept="device")
    assert copies(base + OWN.format(attribute="dev") + TRAIN.format(given=given)) == 0


@pytest.mark.parametrize(("default", "kept"), [("None", "device"), ("'cuda'", "device"), ("'cpu'", "find(device)")])
def test_nothing_says_that_it_is_the_host(default, kept):
    base = BASE.format(default=default, kept=kept)
    assert copies(base + OWN.format(attribute="dev") + TRAIN.format(given="")) == 0


@pytest.mark.parametrize(("default", "expected"), [("'cpu'", 1), ("torch.device('cpu')", 1), ("None", 0)])
def test_a_metric_of_ignite(default, expected):
    assert copies(IGNITE.format(default=default) + TRAIN.format(given="")) == expected


def test_a_network_is_no_metric():
    code = BASE.format(default="'cpu'", kept="device").replace("Metric", "Net") + OWN.format(attribute="dev")
    assert copies(code.replace("Mean(Metric)", "Other(Net)")) == 0


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        ("self.total = self.total + {}", 1),
        ("self.totals[0] += {}", 1),
        ("self.all.append({})", 0),
        ("y = {}\n        self.all.append(y)", 0),
        ("return {}", 0),
    ],
)
def test_what_is_gathered_whole_may_not_fit(kept, expected):
    own = OWN.format(attribute="dev").replace("self.total += (y_pred - y).abs().sum().to(self.dev)", kept)
    code = BASE.format(default="'cpu'", kept="device") + own.format("y_pred.sum(0).to(self.dev)")
    assert copies(code + TRAIN.format(given="")) == expected
