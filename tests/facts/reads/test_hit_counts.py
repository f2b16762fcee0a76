"""Numbers that say how good predictions are, and other counts."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.hit_counts import reads_hits

STEP = """
def train(model: nn.Module, loader, optimizer, criterion, show):
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        out = model(x)
        criterion(out, y).backward()
        optimizer.step()
        best = torch.argmax(out, dim=-1)
        hit = torch.eq(best, y)
        correct = hit.sum()
        share = {read}
        show(share)
"""


def site(read: str):
    files = texts(STEP.format(read=read))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return next(file.hot_calls("item", "float", "int"))


@pytest.mark.parametrize(
    "read",
    [
        "(out.argmax(1) == y).sum().item()",
        "torch.sum(torch.eq(best, y).long()).item() / len(y)",
        "hit.double().mean().item()",
        "float(correct)",
        "(out.max(1)[1].view(-1) != y).sum().item()",
        "best.eq(y.view_as(best)).sum().item()",
        "(100 * correct / len(y)).item()",
    ],
)
def test_hits_are_read_where_they_are_shown(read: str):
    place = site(read)
    assert reads_hits(place)
    assert "where it is shown" in later(place, "correct")


@pytest.mark.parametrize(
    "read",
    [
        "(y == 0).sum().item()",  # the host may know how many there are
        "(best == 0).sum().item()",
        "(y == x[:, 0]).sum().item()",
        "y.max().item()",
        "best[0].item()",
        "int(y[0])",
    ],
)
def test_other_numbers(read: str):
    assert not reads_hits(site(read))
