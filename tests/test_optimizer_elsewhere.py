"""An optimizer that is made in another file, further down than the one that steps it has lines (as in colbert-ai)."""

from __future__ import annotations

from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

MIXED = """\
import torch

class Mixed:
    def __init__(self):
        self.scaler = torch.cuda.amp.GradScaler()

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()
"""
TRAIN = """\
import torch
from mixed import Mixed
{space}
def train(model, loader):
    optimizer = torch.optim.AdamW(model.parameters())
    mixed = Mixed()
    for x in loader:
        loss = model(x.cuda()).sum()
        mixed.scaler.scale(loss).backward()
        mixed.step(optimizer)
        optimizer.zero_grad()
"""


def test_it_is_named_as_its_own_file_writes_it(tmp_path):
    files = (tmp_path / "mixed.py", tmp_path / "train.py")
    files[0].write_text(MIXED)
    files[1].write_text(TRAIN.format(space="\n" * 30))
    report = lint(Target(tmp_path, Settings(select=("TPL122",), confidence=Confidence.POSSIBLE), files))
    assert not report.problems
    told = [finding.instead for finding in report.findings if "fused" in finding.instead]
    assert len(told) == 1
    assert "`torch.optim.AdamW(..., fused=True)`" in told[0]
