"""Branches that only count how often an answer holds, and branches of which something else hangs."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import COUNTS, DECIDES, RECORDS, REPLACES, consequence

STEP = """
def train(model: nn.Module, loader, optimizer, limit, scheduler, writer):
    clipped, worst, told = 0, [0, 0], {{}}
    for step, x in enumerate(loader):
        x = x.cuda()
        model(x).mean().backward()
        norm = x.norm()
        {branch}
        optimizer.step()
        {after}
    return clipped / 3
"""


def of(branch, after="pass"):
    files = texts(STEP.format(branch=branch.replace("\n", "\n        "), after=after.replace("\n", "\n        ")))
    return consequence(next(SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("item")))


@pytest.mark.parametrize(
    "branch",
    [
        "if norm.item() > limit:\n    clipped += 1",
        "if step > 3 and norm.item() > limit:\n    clipped += x.sum().item()\n    print('clipped')",
        "if norm.item() > limit:\n    worst[0] += 1\nelse:\n    worst[1] += 1",
    ],
)
@pytest.mark.parametrize("after", ["pass", "print(clipped / (step + 1))", "told['share'] = clipped / (step + 1)"])
def test_a_branch_that_only_counts(branch, after):
    assert of(branch, after) == COUNTS


@pytest.mark.parametrize(
    ("branch", "after"),
    [
        ("if norm.item() > limit:\n    clipped += 1", "if clipped > 10:\n    break"),
        ("if norm.item() > limit:\n    clipped += 1", "scheduler.step(clipped)"),
        ("if norm.item() > limit:\n    clipped += 1", "x = x[clipped]"),
        ("if norm.item() > limit:\n    clipped += 1\n    optimizer.zero_grad()", "pass"),
        ("if norm.item() > limit:\n    clipped += 1\nelse:\n    x = x + 1", "pass"),
        ("if norm.item() > limit:\n    scheduler.bad += 1", "pass"),
        ("if norm.item() > limit:\n    clipped += scheduler.lower()", "pass"),
    ],
)
def test_a_branch_of_which_more_hangs(branch, after):
    assert of(branch, after) in (DECIDES, REPLACES)


def test_a_name_that_only_a_count_or_a_report_asks_for():
    assert of("n = norm.item()", "if n > limit:\n    clipped += 1") == RECORDS
    told = "if n > 0:\n    told = {}\n"
    told += "    for i, name in enumerate('ab'):\n        told[name] = i / n\n    writer.log(told)"
    assert of("n = norm.item()", told) == RECORDS
    assert of("n = norm.item()", told + "\nmodel(told)") == DECIDES
    assert of("n = norm.item()", "if n > limit:\n    optimizer.zero_grad()") == DECIDES
