"""Batches that a function of a library copies to the device."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.sent_by_function import sent_by_function

TRAIN = """
    from accelerate.utils import send_to_device

    def train(net: nn.Module, loader: DataLoader, optimizer, state):
        for batch in loader:
            {sends}
            net(batch["x"]).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    ("sends", "found"),
    [
        ('batch = send_to_device(batch, "cuda")', 1),
        ('batch = send_to_device(batch, device=torch.device("cuda"))', 1),
        ('batch = send_to_device(device="cuda:0", tensor=batch)', 1),
        ('batch = send_to_device(batch, "cuda", non_blocking=False)', 1),
        ('batch = send_to_device(batch, "cuda", non_blocking=True)', 0),
        ('batch = send_to_device(batch, "cuda", True)', 0),
        ('batch = send_to_device(*batch, "cuda")', 0),
        ('batch = send_to_device(batch, "cpu")', 0),
        ('x = send_to_device(torch.ones(3), "cuda")', 0),
        ("batch = send_to_device(batch)", 0),
    ],
)
def test_what_waits(sends, found):
    files = texts(TRAIN.format(sends=sends))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert len(list(sent_by_function(file))) == found
