"""What a caller passes twice is one tensor: the host tells without comparing elements."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.consequences import DECIDES, SAME, consequence
from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("if torch.equal(query, key): return self.packed(query)", SAME),
        ("same = torch.equal(query, key)\n        if same: return self.packed(query)", SAME),
        ("if torch.equal(query, self.last): return self.packed(query)", DECIDES),
        ("if torch.equal(query, key[0]): return self.packed(query)", DECIDES),
        ("key = self.k(key)\n        if torch.equal(query, key): return self.packed(query)", DECIDES),
        ("if torch.allclose(query, key): return self.packed(query)", DECIDES),
    ],
)
def test_the_same_tensor(body, expected):
    source = f"""\
class Attention(nn.Module):
    def forward(self, query: torch.Tensor, key: torch.Tensor):
        {body}
        return self.q(query), self.k(key)
"""
    files = texts(source)
    site, *_ = SourceFile(Project.of_texts(files), "a.py", files["a.py"]).hot_calls("equal", "allclose")
    assert consequence(site) == expected
