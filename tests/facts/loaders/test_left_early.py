"""Evaluations that a count of batches ends, with a loader of their own: no workers are advised there."""

from __future__ import annotations

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.settings import Settings

EVALUATION = """\
import torch
from torch.utils.data import DataLoader, Dataset
from PIL import Image

class Pictures(Dataset):
    def __getitem__(self, i):
        return Image.open(self.paths[i])

@torch.no_grad()
def evaluate(model: torch.nn.Module, paths, most=None, debug=False):
    loader = DataLoader(Pictures(paths), batch_size=50)
    kept, n = [], 0
    for i, x in enumerate(loader):
        kept.append(model(x.cuda()))
{end}
    return kept
"""
LOOP = "    for i, x in enumerate(loader):"


def _told(tmp_path, text):
    path = tmp_path / "run.py"
    path.write_text(text)
    report = lint(Target(tmp_path, Settings(select=("TPL301",)), (path,)))
    assert report.problems == ()
    return bool(report.findings)


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("if i >= most:\n    break", False),
        ("if most is not None and i >= most:\n    break", False),
        ("if most and i + 1 == most:\n    return kept", False),
        ("n += 1\nif n > 10:\n    break", False),
        ("if 10 < i:\n    print(i)\n    break", False),
        ("if debug and i >= 3:\n    break", True),
        ("if i >= most:\n    print(i)", True),
        ("if len(paths) >= most:\n    break", True),
        ("if i >= most or debug:\n    break", True),
        ("if debug:\n    if i >= 3:\n        break", True),
        ("for i in range(9):\n    break", True),
    ],
)
def test_a_loop_that_a_count_ends(tmp_path, end, told):
    lines = "\n".join(" " * 8 + line for line in end.splitlines())
    assert _told(tmp_path, EVALUATION.format(end=lines)) is told


def test_the_loader_of_a_training_loop_and_one_made_elsewhere_may_have_workers(tmp_path):
    text = EVALUATION.format(end="        if i >= most:\n            break")
    trained = text.replace("@torch.no_grad()", "").replace("model(x.cuda()))", "model(x.cuda()).mean().backward())")
    assert _told(tmp_path, trained)
    elsewhere = text.replace("    loader = DataLoader(Pictures(paths), batch_size=50)\n", "").replace(
        "paths, most=None", "loader, most=None"
    )
    assert _told(tmp_path, elsewhere + "\n\nevaluate(model, DataLoader(Pictures(paths), batch_size=50))\n")
