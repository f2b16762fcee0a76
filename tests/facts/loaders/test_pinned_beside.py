"""Copies that wait beside the copy of something pinned that does not."""

from __future__ import annotations

from textwrap import indent

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.loaders.pinned_beside import pinned_beside

PINNED = "a = torch.tensor(rows, pin_memory=True)\ny = a[:, 1:].to('cuda', non_blocking=True)\n"


def names(body):
    head = "import torch\n\n\ndef train(model, loader, opt):\n    for rows, marks in loader:\n"
    text = head + indent(f"{body}model(y, m).backward()\nopt.step()\n", " " * 8)
    file = SourceFile(Project.of_texts({"a.py": text}), "a.py", text)
    return [found.name for found in pinned_beside(file)]


@pytest.mark.parametrize(
    "body",
    [
        f"{PINNED}m = torch.tensor(marks).to('cuda')\n",
        f"{PINNED}b = torch.tensor(marks)\nm = b[:, 1:].to('cuda')\n",
        f"m = torch.tensor(list(marks)).cuda()\n{PINNED}",
    ],
)
def test_what_is_made_on_the_host_beside_something_pinned_is_found(body):
    assert names(body) == ["a"]


@pytest.mark.parametrize(
    "body",
    [
        f"{PINNED}m = torch.tensor(marks).pin_memory().to('cuda', non_blocking=True)\n",
        f"{PINNED}m = torch.tensor(marks).to('cuda', non_blocking=True)\n",
        f"{PINNED}m = torch.tensor(marks).to('cpu')\n",
        f"{PINNED}m = torch.tensor([1, 2]).to('cuda')\n",
        f"{PINNED}m = torch.from_numpy(marks).to('cuda')\n",
        f"{PINNED}m = torch.tensor(marks).to('cuda', non_blocking=False)\n",
        "y = torch.tensor(rows)\nm = torch.tensor(marks).to('cuda')\n",
        f"{PINNED.replace('True', 'False', 1)}m = torch.tensor(marks).to('cuda')\n",
    ],
)
def test_what_waits_alone_or_is_no_data_of_the_step_is_left(body):
    assert names(body) == []
