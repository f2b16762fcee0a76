"""Loops that copy elements of one device tensor into another."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.copied_one_by_one import copied_one_by_one
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HEAD = """
class Modes(nn.Module):
    def forward(self, x: torch.Tensor, places: list[int], groups):
        h = x.cuda()
        out = torch.zeros_like(h)
"""


def found(code: str) -> bool:
    """Whether a pass with some code has such a loop."""
    files = texts(HEAD + indent(code, " " * 8) + "\n        return out\n")
    return bool(list(copied_one_by_one(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    "code",
    [
        "for i, j in enumerate(places):\n    out[i] = h[j]",
        "for i, j in enumerate(self.modes, 1):\n    out[:, i] = h[:, j]",
        "for i, j in zip(places, self.modes):\n    if j >= h.shape[-1] or j < 0:\n        continue\n    out[i] = h[j]",
        "for i in places:\n    if i >= len(h):\n        continue\n    out[i] = h[0, i]",
        "y = h.new_zeros(3)\nfor i in places:\n    y[i] = h[i]",
    ],
)
def test_places_that_the_host_lists(code: str) -> None:
    assert found(code)


@pytest.mark.parametrize(
    "code",
    [
        "for i, j in enumerate(places):\n    if out[j].sum() > 0:\n        continue\n    out[i] = h[j]",
        "for i, j in enumerate(places):\n    if self.free(j):\n        continue\n    out[i] = h[j]",
        "for i, mask in enumerate(self.kept):\n    out[i] = h[mask]",
        "for i, m in enumerate(self.masks):\n    out[i] = h[m]",
        "for i, s in enumerate(self.slices):\n    out[i] = h[s]",
        "cuts = [slice(i, i + 2) for i in places]\nfor i, s in enumerate(cuts):\n    out[i] = h[s]",
        "for i, group in enumerate(groups):\n    out[i] = h[group]",
        "for i, j in zip(*groups):\n    out[i] = h[j]",
        "acc = out\nfor i, j in enumerate(places):\n    acc[i] = out[j]",
        "acc = out.view(-1)\nfor i, j in enumerate(places):\n    out[i] = acc[j]",
        "rest = out[1:]\nlast = rest\nfor i, j in enumerate(places):\n    out[i] = last[j]",
        "for i, j in enumerate(places):\n    h[i] = x[j]",
    ],
)
def test_what_chooses_several_and_what_the_turns_write(code: str) -> None:
    assert not found(code)
