"""Reads in the key that a list is sorted by."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.fixes.read_later import later
from torchperf_lint.facts.reads.reads import conversion_readings, item_readings

STEP = """
def train(model: nn.Module, loader, optimizer, ids, pool, table):
    for x in loader:
        out = model(x.cuda())
        out.mean().backward()
        optimizer.step()
        {use}
"""


def _told(use: str) -> list[str]:
    files = texts(STEP.format(use=use))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    readings = [*item_readings(file), *conversion_readings(file)]
    return [later(reading.site, file.brief(reading.operand)) for reading in readings]


@pytest.mark.parametrize(
    ("use", "said"),
    [
        ("ids.sort(key=lambda i: out[i].item(), reverse=True)", "copy `out` once before `sort`"),
        ("best = sorted(ids, key=lambda i: -float(out[i]))", "copy `out` once before `sorted`"),
        ("best = max(ids, key=lambda i: out[0][i].item())", "copy `out[0]` once before `max`"),
        ("best = max(range(len(out)), key=lambda i: out[i].item())", "`out.argmax()`"),
        ("best = min(range(len(out)), key=lambda i: float(out[i]))", "`out.argmin()`"),
        ("best = sorted(ids, key=lambda i: out.sum().item())", "in one copy before `sorted`"),
        ("best = sorted(ids, key=out.sum().item())", "add `out.sum().detach()`"),  # read once: no lambda
    ],
)
def test_what_to_write_instead(use, said):
    (told,) = _told(use)
    assert (said in told) is ("add" not in said), told


@pytest.mark.parametrize(
    "use",
    [
        "ids.sort(key=lambda i: table[i])",
        "pool.add_hook(lambda i: out[i].item())",  # kept for a case that may never come
        "pool.sorting(key=lambda i: out[i].item())",
        "ids.sort(key=lambda i: len(out[i]))",
    ],
)
def test_what_reads_nothing_then_and_there(use):
    assert _told(use) == []


@pytest.mark.parametrize(
    "use",
    [
        "best = max(ids, key=lambda i: out[i].item())",
        "best = min(range(9), key=lambda i: out[i, 0].item())",
        "best = min(range(len(out)), key=lambda i: out[i, 0].item())",
        "best = max(range(len(out)), key=lambda i: -out[i].item())",
        "best = sorted(range(len(out)), key=lambda i: out[i].item())",
    ],
)
def test_the_device_chooses_only_among_all(use):
    (told,) = _told(use)
    assert "copy `out` once" in told
    assert "let the device choose" not in told


@pytest.mark.parametrize(
    "use",
    [
        "sums = {k: out[k].sum() for k in ids}\n        best = max(sums, key=lambda k: sums[k].item())",
        "sums = [o.sum() for o in out]\n        best = sorted(ids, key=lambda k: sums[k].item())",
        "best = min(ids, key=lambda i: out[i].sum().item())",
    ],
)
def test_tensors_in_a_dict_or_list_and_what_is_computed_of_an_element(use):
    (told,) = _told(use)
    assert "in one copy before" in told
