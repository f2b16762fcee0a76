"""Which repeats have to read how many they make, and how the host could know it."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.repeating import NUMBERED, SHARED, STORED, SUMMED, repeated_by_counts

MODULE = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, counts: torch.Tensor, heads: int):
        x = self.net(x.to("cuda"))
        numbers = torch.arange(len(counts), device=x.device)
        {before}
        return {call}
"""


def _known(call: str, before: str = "") -> list[str | None]:
    text = IMPORTS + MODULE.replace("{call}", call).replace("{before}", before)
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    return [found.known for found in repeated_by_counts(file)]


@pytest.mark.parametrize(
    ("call", "known"),
    [
        ("numbers.repeat_interleave(counts)", [NUMBERED]),
        ("torch.repeat_interleave(counts)", [NUMBERED]),
        ("torch.repeat_interleave(torch.arange(3).to(x.device), repeats=counts)", [NUMBERED]),
        ("x.repeat_interleave(counts, 0)", [None]),
        ("(x.repeat_interleave(counts, 0), x.repeat_interleave(counts, 1))", [SHARED, SHARED]),
        ("(x.repeat_interleave(counts, 0), x.repeat_interleave(counts + 1, 1))", [None, None]),
        ("x.repeat_interleave(heads, 0)", []),
        ("x.repeat_interleave(counts, 0, output_size=4)", []),
        ("x.repeat_interleave(*counts)", []),
    ],
)
def test_what_is_known_of_the_size(call: str, known: list[str | None]) -> None:
    assert _known(call) == known


@pytest.mark.parametrize("read", ["int(counts.sum())", "counts.sum().item()"])
def test_a_sum_that_is_read_is_known(read: str) -> None:
    assert _known("x.repeat_interleave(counts, 0)", f"total = {read}") == [SUMMED]


@pytest.mark.parametrize(
    ("before", "counts", "size"),
    [
        ("ends = x.crow_indices()", "ends[1:] - ends[:-1]", "x.values().shape[0]"),
        ("n = x.ccol_indices().diff()", "n", "x.values().shape[0]"),
        ("n = torch.diff(x.crow_indices())", "n", "x.values().shape[0]"),
        ("ends = counts.cumsum(0)", "ends[1:] - ends[:-1]", None),
        ("ends = x.crow_indices(); other = x.ccol_indices()", "ends[1:] - other[:-1]", None),
    ],
)
def test_what_a_sparse_matrix_stores(before, counts, size):
    text = IMPORTS + MODULE.replace("{call}", f"torch.repeat_interleave(numbers, {counts})").replace("{before}", before)
    (found,) = repeated_by_counts(SourceFile(Project.of_texts({"m.py": text}), "m.py", text))
    assert (found.known, found.size) == (STORED if size else NUMBERED, size)
