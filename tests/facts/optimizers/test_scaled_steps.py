"""Optimizers that a GradScaler steps."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.scaled_steps import scale_reads, stepped_unfused

TRAIN = """\
def train(net: nn.Module, loader: DataLoader, given):
    opt = {made}
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        scaler.scale(net(x.cuda()).sum()).backward()
        scaler.step(opt)
        {after}
"""


@pytest.mark.parametrize(
    ("made", "after", "stepped", "read"),
    [
        ("torch.optim.Adam(net.parameters())", "pass", 1, 0),
        ("torch.optim.Adam(net.parameters(), foreach=True)", "pass", 0, 0),
        ("torch.optim.Adam(net.parameters(), fused=True)", "pass", 0, 0),
        ("given", "given.append(scaler.get_scale())", 0, 1),
        ("given", "scaler.get_scale() < 3 and print()", 0, 0),
        # Put by in each step for a checkpoint that may come; an entry of a dictionary made here is written now.
        ("given", "given.meta['scaler'] = scaler.state_dict()", 0, 1),
        ("given", "given.setdefault('amp', {})['scaler'] = scaler.state_dict()", 0, 1),
        ("given", "given.scaler = scaler.state_dict()", 0, 1),
        ("given", "given['scaler'] = scaler.state_dict()", 0, 0),
        ("given", "given.meta['scaler'] = opt.state_dict()", 0, 0),
        ("given", "torch.save({'scaler': scaler.state_dict()}, given)", 0, 0),
    ],
)
def test_what_a_scaler_reads(made, after, stepped, read):
    files = texts(TRAIN.format(made=made, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert (len(list(stepped_unfused(file))), len(list(scale_reads(file)))) == (stepped, read)
