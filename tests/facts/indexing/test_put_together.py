"""What the result of a call must be as long as."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.repeating import BESIDE, repeated_by_counts

BATCH = """
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net, self.bias = nn.Linear(8, 8), nn.Parameter(torch.zeros(8))

    def forward(self, x: torch.Tensor, counts: torch.Tensor, nodes: torch.Tensor, scale: torch.Tensor):
        means = self.net(x.to("cuda"))
        {code}
"""


@pytest.mark.parametrize(
    ("code", "size"),
    [
        ("return torch.cat([nodes, means.repeat_interleave(counts, 0)], dim=-1)", "nodes.shape[0]"),
        ("rows = means.repeat_interleave(counts, 0); return torch.cat((rows, nodes), 1)", "nodes.shape[0]"),
        ("rows = means.repeat_interleave(counts, dim=1); return torch.stack([rows, nodes])", "nodes.shape[1]"),
        ("rows = means.repeat_interleave(counts, 0); return nodes - rows", "nodes.shape[0]"),
        ("rows = torch.repeat_interleave(means, counts, 0); return torch.cross(nodes, rows)", "nodes.shape[0]"),
        ("rows = means.repeat_interleave(counts); return means.index_add(0, rows, nodes)", "nodes.shape[0]"),
        ("rows = (means > 0).repeat_interleave(counts, 0); return nodes[rows].mean()", "nodes.shape[0]"),
        # Along the same dimension each adds its own; one row, or one number, does for all.
        ("return torch.cat([nodes, means.repeat_interleave(counts, 0)])", None),
        ("return torch.cat([nodes, means.repeat_interleave(counts, 0)], dim=0)", None),
        ("return means.repeat_interleave(counts, 0) + self.bias", None),
        ("return means.repeat_interleave(counts, 0) * scale", None),
        ("top = nodes.amax(); return means.repeat_interleave(counts, 0) - top", None),
        # What is made of the result, or after it, tells nothing before.
        ("rows = means.repeat_interleave(counts, 0); other = self.net(rows); return rows + other", None),
        ("rows = means.repeat_interleave(counts, 0); nodes = self.net(rows); return rows + nodes", None),
        ("a = means.repeat_interleave(counts, 0); b = x.repeat_interleave(counts, 0); return a + b", None),
        ("rows = means.repeat_interleave(counts, 0); return rows @ nodes", None),
        ("rows = means.repeat_interleave(counts, 0); return nodes[rows]", None),
    ],
)
def test_what_the_result_is_put_together_with_is_as_long(code: str, size: str | None) -> None:
    text = IMPORTS + BATCH.replace("{code}", code.replace("; ", "\n        "))
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    found = repeated_by_counts(file)[0]
    assert found.size == size
    assert (found.known == BESIDE) == (size is not None)
