"""Optimizers that a GradScaler steps."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.scaled_steps import is_asked_for, scale_reads, stepped_unfused

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
    ],
)
def test_what_a_scaler_reads(made, after, stepped, read):
    files = texts(TRAIN.format(made=made, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert (len(list(stepped_unfused(file))), len(list(scale_reads(file)))) == (stepped, read)


@pytest.mark.parametrize(
    ("default", "enabled", "asked"),
    [
        ("amp=False", "enabled=amp", True),
        ("amp: bool = False", "enabled = amp", True),
        ("amp=True", "enabled=amp", False),
        ("amp=False", "enabled=True", False),
        ("amp=False", "", False),
        ("amp", "enabled=amp", False),
        ("cuda, amp=False", "enabled=amp and cuda", True),
        ("cuda, amp=False", "enabled=cuda", False),
        ("cuda, amp=False", "'cuda', enabled=amp", True),
    ],
)
def test_a_scaler_that_is_off_unless_somebody_asks(default, enabled, asked):
    code = f"import torch\n\ndef make({default}):\n    return torch.amp.GradScaler({enabled})\n"
    assert is_asked_for(SourceFile(Project.of_texts({"a.py": code}), "a.py", code)) is asked


ARGS = """\
import torch

def parse(parser):
    parser.add_argument("--amp", {declared})

class Trainer:
    def __init__(self, args):
        self.amp = args.amp
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.amp)
"""


@pytest.mark.parametrize(
    ("declared", "asked"), [("action='store_true'", True), ("default=False", True), ("default=True", False)]
)
def test_a_scaler_of_an_option(declared, asked):
    code = ARGS.format(declared=declared)
    assert is_asked_for(SourceFile(Project.of_texts({"a.py": code}), "a.py", code)) is asked


@pytest.mark.parametrize(("call", "asked"), [("make()", True), ("make(amp=True)", False)])
def test_a_scaler_that_a_call_asks_for(call, asked):
    code = f"import torch\n\ndef make(amp=False):\n    return torch.amp.GradScaler(enabled=amp)\n\nmade = {call}\n"
    assert is_asked_for(SourceFile(Project.of_texts({"a.py": code}), "a.py", code)) is asked
