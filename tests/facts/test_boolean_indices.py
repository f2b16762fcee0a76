"""Host indices that are masks, and what to write in place of those."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.project import Project
from torchperf_lint.facts.source import SourceFile
from torchperf_lint.rules.tpl111_host_index_into_device_tensor import HostIndexIntoDeviceTensor

CODE = """
class Loss(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.kept = MADE
        self.mask = torch.ones(n, n)

    def forward(self, z):
        z = z.cuda()
        return USE

def train(model, loader, optimizer):
    criterion = Loss(8)
    for x, y in loader:
        criterion(model(x.cuda())).backward()
        optimizer.step()
"""
INTEGERS = "keep integer indices in place of the mask"


def advice(made, use):
    files = texts(CODE.replace("MADE", made).replace("USE", use))
    project = Project.of_texts(files)
    rule = HostIndexIntoDeviceTensor()
    return [found.instead for found in rule.check(SourceFile(project, "a.py", files["a.py"]), project)]


@pytest.mark.parametrize(
    ("made", "use", "expected"),
    [
        ("~torch.eye(n, dtype=torch.bool)", "z[self.kept].sum()", "`places = self.kept.nonzero(as_tuple=True)`"),
        ("torch.eye(n).bool()", "z[~self.kept].sum()", "`places = (~self.kept).nonzero(as_tuple=True)`"),
        ("torch.randn(n)", "z[self.mask].sum()", "`places = self.mask.nonzero(as_tuple=True)`"),
        ("torch.randperm(n)", "z[self.kept].sum()", 'self.register_buffer("kept", ...)'),
        ("None", "(z @ z.t())[torch.arange(8), torch.arange(8)]", "device=(z @ z.t()).device)`"),
        ("None", "z[torch.eye(8, dtype=bool)]", "`places = torch.eye(8, dtype=bool).nonzero(as_tuple=True)`"),
    ],
)
def test_what_to_write(made, use, expected):
    (first, *_) = advice(made, use)
    assert expected in first
    assert (INTEGERS in first) is ("places" in expected)
