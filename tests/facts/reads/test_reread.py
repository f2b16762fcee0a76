"""Tensors that are read on the host again."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.consequences import READ, consequence

HEAD = """\
class Head(nn.Module):
    def forward(self, x: torch.Tensor, words):
        x = x.cuda()
"""


def last_read(code):
    """What follows from the last read of a forward pass."""
    files = texts(HEAD + indent(code, " " * 8) + "\n")
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    return consequence(list(file.hot_calls("item", "tolist", "cpu", "int", "float"))[-1])


@pytest.mark.parametrize(
    "code",
    [
        "words.append(x.tolist())\nif x.item() == 3:\n    return x\nreturn self(x)",
        "ids = x.cpu()\nif x[0].item() == 3:\n    return x\nreturn self(x)",
        "n = int(x)\nwords.append(n)\nif float(x) > 1:\n    return x\nreturn self(x)",
        "rows = x.detach().tolist()\nfor i in range(9):\n"
        "    if x[i].item() > rows[i]:\n        words.append(i)\n        break",
    ],
)
def test_what_was_fetched_is_there(code):
    assert last_read(code) == READ


@pytest.mark.parametrize(
    "code",
    [
        "if words:\n    words.append(x.tolist())\nif x.item() == 3:\n    return x\nreturn self(x)",
        "words.append(x.tolist())\nx = self(x)\nif x.item() == 3:\n    return x\nreturn self(x)",
        "words.append(x.tolist())\nx += 1\nif x.item() == 3:\n    return x\nreturn self(x)",
        "words.append(x.tolist())\nx[0] = 1\nif x.item() == 3:\n    return x\nreturn self(x)",
        "words.append(x.tolist())\nx.add_(1)\nif x.item() == 3:\n    return x\nreturn self(x)",
        "words.append(x[0].item())\nif x[1].item() == 3:\n    return x\nreturn self(x)",
    ],
)
def test_what_was_not_fetched_is_read(code):
    assert last_read(code) != READ
