"""Scripts that train on the host because a literal says so."""

from __future__ import annotations

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.processes.host_training import kept_on_host

LOOP = """
def train(model: nn.Module, loader, optimizer):
    {before}
    for x, y in loader:
        model(x).sum().backward()
        optimizer.step()
"""


def kept(top, before, extra=""):
    text = f"import torch\nfrom torch import nn\n\n{top}\n{extra}\n{LOOP.format(before=before)}"
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    return [found.written for found in kept_on_host(file)]


@pytest.mark.parametrize(
    ("top", "before", "expected"),
    [
        ("device = torch.device('cpu')", "model.to(device)", ["device = torch.device('cpu')"]),
        ("DEV = 'cpu'", "model = model.to(DEV)", ["DEV = 'cpu'"]),
        ("", "d = 'cpu'\n    model.to(d)", ["d = 'cpu'"]),
        ("device = torch.device('cpu')", "optimizer.to(device)", []),
        ("device = torch.device('cpu')", "other = loader.x.to(device)", []),
        ("device = torch.device('cpu')\ndevice = torch.device('meta')", "model.to(device)", []),
        ("device = 'cpu' if torch.backends.mps.is_available() else 'mps'", "model.to(device)", []),
        ("device = torch.device('meta')", "model.to(device)", []),
    ],
)
def test_devices(top, before, expected):
    assert kept(top, before) == expected


def test_a_file_that_names_another_device():
    assert kept("device = torch.device('cpu')", "model.to(device)", "if torch.cuda.is_available(): pass") == []
