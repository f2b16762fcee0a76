"""Calls that compute each row by itself, of what a mask picks."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import WRITTEN
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import STORE, selections

CODE = """
    class Loss(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor):
            x, y = x.cuda(), y.cuda()
            out = torch.zeros(len(x), device=x.device)
            m = y >= 0
            out[m] = {value}
            return out.mean()
"""


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        ("x[m].norm(dim=1)", True),
        ("x[m].norm(2, dim=-1)", True),
        ("x[m].mean(1)", True),
        ("x[m].amax(dim=1)", True),
        ("-F.log_softmax(x[m], dim=1).mean(dim=1)", True),
        ("(3 - torch.linalg.norm(x[m], ord=2, dim=1)).relu().pow(2)", True),
        ("F.normalize(x[m]).sum(1)", True),
        ("F.cross_entropy(x[m], y[m], reduction='none')", True),
        ("F.cosine_similarity(x[m], y[m])", True),
        ("F.cosine_similarity(x[m], y[m], dim=0)", False),
        ("F.cross_entropy(x[m], y[m])", False),
        ("F.cross_entropy(x[m], y, reduction='none')", False),
        ("x[m].norm(dim=0)", False),
        ("F.softmax(x[m], dim=0)", False),
        ("torch.linalg.norm(x[m], ord=2)", False),
        ("x[m].sum(dims)", False),
        ("x[m].cumsum(0)", False),
        ("self.net(x[m])", False),
    ],
)
def test_what_a_mask_picks_can_be_computed_for_all_rows(value, holds):
    files = texts(CODE.format(value=value))
    found = selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    (store,) = [one for one in found if one.form == STORE]
    assert (purpose(store) == WRITTEN) is holds
