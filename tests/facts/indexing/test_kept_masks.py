"""Masks that samples and batches hold under names of the project's own."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.selections import selections

STEP = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, batch):
            return self.layer(x).cuda()[{index}]
"""
DATA = """
    def sample(data, kinds):
        {set}
        return data
"""


@pytest.mark.parametrize(
    ("index", "set", "selects"),
    [
        ("batch.node_mask", "data.node_mask = torch.zeros(9, dtype=torch.bool)", True),
        ("batch['agent']['node_mask']", "data['agent']['node_mask'] = torch.isin(kinds, kinds[:2])", True),
        ("~batch['node_mask']", "data = {'node_mask': torch.zeros(9).bool(), 'kinds': kinds}", True),
        ("batch['node_mask']", "node_mask = torch.zeros(9, dtype=torch.bool); data.update(node_mask=node_mask)", True),
        ("batch['graph'].node_mask[:, :5]", "data['graph'].node_mask = kinds.bool()", True),
        ("batch.node_mask", "data.node_mask = torch.zeros(9, dtype=torch.bool); data.node_mask = kinds.long()", False),
        ("batch.node_mask", "data.node_mask = torch.zeros(9, dtype=torch.bool).float()", False),
        ("batch.node_mask", "data.node_mask = kinds", False),
        ("batch.node_mask", "data.edge_mask = torch.zeros(9, dtype=torch.bool)", False),
        ("batch.mask", "data.mask = torch.zeros(9, dtype=torch.bool)", False),
        ("batch.node_index", "data.node_index = torch.zeros(9, dtype=torch.bool)", False),
    ],
)
def test_what_a_sample_holds_is_a_mask_where_the_project_puts_one_there(index, set, selects):
    files = texts({"a.py": STEP.format(index=index), "data.py": DATA.format(set=set)})
    found = list(selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert bool(found) is selects
