"""A sum of what lies on the host is there, whoever passes it; one that takes in something of the device is not."""

from __future__ import annotations

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

STEP = """\
import torch

def pieces(t, length):
    out, index = [], {begun}
    for i in range(length.numel()):
        l = length[i]
        out.append(t[index : index + 4].sum())
{added}
    return sum(out)

def train(net: torch.nn.Module, optimizer, loader):
    for x, y in loader:
        p = net(x.cuda(non_blocking=True)).view(-1)
        n = {lengths}
        pieces(p, n).backward()
        optimizer.step()
"""
HOST = "torch.IntTensor([p.size(0) // 2] * 2)"
DEVICE = "torch.full((2,), 3, device='cuda')"


@pytest.mark.parametrize(
    ("begun", "added", "lengths", "read"),
    [
        ("0", "index += l", HOST, False),
        ("0", "index += l\nindex += 1", HOST, False),
        ("0", "index += 2 * l", HOST, False),
        ("torch.zeros((), dtype=torch.int)", "index += l", HOST, False),
        ("torch.zeros((), dtype=torch.int)", "index += l", DEVICE, False),
        ("0", "index += 4", DEVICE, False),
        ("0", "index += l", DEVICE, True),
        ("0", "index += l\nindex += t.argmax()", HOST, True),
        ("t.argmin()", "index += l", HOST, True),
    ],
)
def test_a_sum_is_where_all_its_parts_are(tmp_path, begun, added, lengths, read):
    lines = "\n".join(" " * 8 + line for line in added.splitlines())
    path = tmp_path / "train.py"
    path.write_text(STEP.format(begun=begun, added=lines, lengths=lengths))
    report = lint(Target(tmp_path, Settings(select=("TPL112",)), (path,)))
    assert report.problems == ()
    assert bool(report.findings) is read
