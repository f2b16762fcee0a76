"""Lists that a pass fills with tensors of the device, and that nothing ever reads."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.autograd.read_by_nobody import unread_lists
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

PASS = """
@torch.no_grad()
def judge(model: nn.Module, loader: DataLoader, given):
    model.eval()
    total = 0
    {before}
    for x, y in loader:
        out = model(x.cuda())
        {keep}
        total += (out.argmax(1) == y.cuda()).sum()
    {after}
"""


@pytest.mark.parametrize(
    ("before", "keep", "after", "told"),
    [
        ("kept = []", "kept.append(out)", "return total", ["kept"]),
        ("kept, other = [], []", "kept.append(out.softmax(1))", "return total, other", ["kept"]),
        ("kept = list()", "kept.extend(out)", "return total", ["kept"]),
        ("kept = []", "kept.append(out)", "return kept", []),
        ("kept = []", "kept.append(out)", "return lambda: kept", []),
        ("kept = []", "n = kept.append(out)", "return total", []),
        ("kept = given", "kept.append(out)", "return total", []),
        ("kept = []", "kept.append(out)", "print(locals())", []),
        ("kept = []", "kept.append(x)", "return total", []),
        ("kept = []", "loss = F.cross_entropy(out, y.cuda()); kept.append(loss)", "return total", []),
        ("pass", "given.append(out)", "return total", []),
        ("pass", "kept = []; kept.append(out)", "return total", []),
        ("global kept; kept = []", "kept.append(out)", "return total", []),
    ],
)
def test_lists_that_nothing_reads(before, keep, after, told):
    files = texts(PASS.format(before=before, keep=keep, after=after))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    assert [unread.name for unread in unread_lists(file)] == told
