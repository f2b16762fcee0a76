"""Loops that reduce segments of a tensor one by one."""

from __future__ import annotations

from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.element_loops.segment_loops import segment_loops
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile

HEAD = """
class Readout(nn.Module):
    def forward(self, x: torch.Tensor, scope: list):
        h, out = x.cuda(), []
"""


def found(code: str) -> bool:
    """Whether a pass with some code has such a loop."""
    files = texts(HEAD + indent(code, " " * 8) + "\n        return out\n")
    return bool(list(segment_loops(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))))


@pytest.mark.parametrize(
    "code",
    [
        "for s, n in scope:\n    out.append(h.narrow(0, s, n).sum(dim=0) / n)",
        "for s, n in scope:\n    m = h[s : s + n].mean(dim=0)\n    out.append(m)",
        "for s, n in scope:\n    m = h.narrow(0, s, n).sum(dim=0)\n    m = m / n\n    out.append(m.relu())",
        "for s, n in scope:\n    part = h.narrow(0, s, n)\n    part = part.sum(dim=0) / n\n    out.append(part)",
        "out = [h[s:e].mean(0) for s, e in scope]",
    ],
)
def test_reductions_of_segments_that_are_gathered(code: str) -> None:
    assert found(code)


@pytest.mark.parametrize(
    "code",
    [
        "for s, e in scope:\n    m = h[s:e].mean(0)\n    out.append(s)",
        "for s, e in scope:\n    m = h[s:e].mean(0)\n    self.add(m)",
        "for s, e in scope:\n    m = h[s:e].mean(0)\n    h[e] = m\n    out.append(m)",
        "for s, e in scope:\n    m = h[s:e].mean(0)\n    h.add_(m)\n    out.append(m)",
        "out = [s for s, e in scope if h[s:e].mean(0).any()]",
    ],
)
def test_what_is_not_gathered_or_needs_the_turn_before(code: str) -> None:
    assert not found(code)


SIZES = "sizes = [len(rows) for rows in scope]\n"


@pytest.mark.parametrize(
    "code",
    [
        f"{SIZES}out = [h[rows].mean(0) for rows in scope]",
        f"{SIZES}out = [torch.mean(h[rows], dim=0, keepdim=True) for rows in scope]",
        f"{SIZES}for i, rows in enumerate(scope):\n    m = torch.sum(h[rows], 0)\n    out.append(m)",
        "for rows in scope:\n    out.append(h[rows].sum(0) / len(rows))",
        "out = [h[rows].mean(0) for rows in groups]",
    ],
)
def test_rows_that_lists_choose(code: str) -> None:
    assert found(f"groups = [torch.nonzero(h == 1), torch.nonzero(h == 2)]\n{code}")


@pytest.mark.parametrize(
    "code",
    [
        "out = [h[row].mean(0) for row in scope]",
        f"{SIZES}out = [h[rows].mean(1) for rows in scope]",
        f"{SIZES}out = [torch.mean(rows, dim=0) for rows in scope]",
        f"{SIZES}out = [self.parts[rows].sum(0) for rows in scope]",
        f"{SIZES}out = [h[rows].mean(0) for rows in other]",
        f"{SIZES}for rows in scope:\n    m = h[rows].mean(0)\n    h[rows] = m\n    out.append(m)",
    ],
)
def test_single_rows_and_other_loops(code: str) -> None:
    assert not found(code)
