"""Loops that multiply elements of two device tensors."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.multiplied_one_by_one import multiplied_one_by_one
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HEAD = """
class Modes(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(4, 4, 4))

    def times(self, a, b):
        return torch.einsum("bi,io->bo", a, b)

    def turned(self, a, b):
        return torch.einsum("io,bi->bo", b, a)

    def scaled(self, a, b):
        return torch.einsum("bi,io->bo", a, b) * 2

    def forward(self, x: torch.Tensor, places: list[int], groups):
        h = x.cuda()
        out = torch.zeros_like(h)
"""


def found(code: str) -> list[str]:
    """The equation for all elements of each such loop of a pass with some code."""
    files = texts(HEAD + indent(code, " " * 8) + "\n        return out\n")
    loops = multiplied_one_by_one(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [loop.batched for loop in loops]


@pytest.mark.parametrize(
    "code",
    [
        "for i, j in enumerate(places):\n    out[..., i] = torch.einsum('bi,io->bo', h[..., j], self.w[..., i])",
        "for i, j in enumerate(self.modes):\n    out[:, :, i] = self.times(h[:, :, j], self.w[:, :, i])",
        "for j in places:\n    if j >= len(h): continue\n    out[..., j] = self.times(h[..., j], self.w[..., j])",
    ],
)
def test_products_at_places_that_the_host_lists(code: str) -> None:
    assert found(code) == ['"bim,iom->bom"']


def test_a_letter_stands_where_the_loop_indexes() -> None:
    code = "for i, j in enumerate(places):\n    out[:, i, :] = torch.einsum('bi,io->bo', h[..., j], self.w[i, :, :])"
    assert found(code) == ['"bim,mio->bmo"']


@pytest.mark.parametrize(
    "code",
    [
        "for i, j in enumerate(places):\n    out[..., i] = self.scaled(h[..., j], self.w[..., i])",
        "for i, j in enumerate(places):\n    out[..., i] = self.turned(h[..., j], self.w[..., i])",
        "for i, j in enumerate(places):\n    out[..., i] = self.other(h[..., j], self.w[..., i])",
        "for i, j in enumerate(places):\n    out[..., i] = self.times(out[..., j], self.w[..., i])",
        "for i, j in enumerate(places):\n    out[..., i] = self.times(h[..., j], self.w)",
        "for i, j in enumerate(places):\n    out[..., i] += self.times(h[..., j], self.w[..., i])",
        "for i, j in enumerate(groups):\n    out[..., i] = torch.einsum('...i,io->...o', h[..., j], self.w[..., i])",
        "for i, part in enumerate(self.parts):\n    out[..., i] = part(h[..., i])",
        "for i, head in enumerate(self.heads):\n    out[..., i] = self.times(h[..., head], self.w[..., i])",
    ],
)
def test_other_turns(code: str) -> None:
    assert found(code) == []
