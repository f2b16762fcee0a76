"""Host indices that are masks, and what to write in place of those."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
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
    return advice_in(CODE.replace("MADE", made).replace("USE", use))


def advice_in(code):
    files = texts(code)
    project = Project.of_texts(files)
    rule = HostIndexIntoDeviceTensor()
    return [found.instead for found in rule.check(SourceFile(project, "a.py", files["a.py"]), project)]


@pytest.mark.parametrize(
    ("made", "use", "expected"),
    [
        ("~torch.eye(n, dtype=torch.bool)", "z[self.kept].sum()", "`places = self.kept.nonzero(as_tuple=True)`"),
        ("torch.eye(n).bool()", "z[~self.kept].sum()", "`places = (~self.kept).nonzero(as_tuple=True)`"),
        ("torch.ones(n)", "z[self.mask].sum()", "`places = self.mask.nonzero(as_tuple=True)`"),
        ("torch.randperm(n)", "z[self.kept].sum()", 'self.register_buffer("kept", ...)'),
        ("None", "(z @ z.t())[torch.arange(8), torch.arange(8)]", "device=(z @ z.t()).device)`"),
        ("None", "z[torch.eye(8, dtype=bool)]", "`places = torch.eye(8, dtype=bool).nonzero(as_tuple=True)`"),
        ("torch.ones(n).bool()", "z[:, self.kept]", "`places = self.kept.nonzero(as_tuple=True)[0]`, copied"),
        ("torch.ones(n).bool()", "z[:, ~self.kept]", "`places = (~self.kept).nonzero(as_tuple=True)[0]`, copied"),
        ("torch.ones(n, n).bool()", "z[:, self.kept]", "`places = self.kept.nonzero(as_tuple=True)`, each copied"),
        ("torch.ones((n, n)).bool()", "z[:, self.kept]", "one for each dimension of the mask, where the mask stands"),
        ("torch.triu(torch.ones(n, n)).bool()", "z[:, self.kept, :]", "one for each dimension of the mask, where"),
        ("~torch.eye(n).bool()", "z[..., self.kept]", "one for each dimension of the mask, where the mask stands"),
        ("torch.rand(n) > 0.5", "z[self.kept].sum()", 'self.register_buffer("kept", ...)'),
    ],
)
def test_what_to_write(made, use, expected):
    (first, *_) = advice(made, use)
    assert expected in first
    assert (INTEGERS in first) is ("places" in expected or "dimension" in expected)


@pytest.mark.parametrize(
    "made", ["torch.arange(0, n, 2)", "torch.tensor([1, 2])", "torch.randperm(n)[:4]", "torch.ones(n).nonzero()[:, 0]"]
)
@pytest.mark.parametrize("name", ["mask_idx", "mask_indices", "mask_pos", "mask_token_ids", "mask"])
def test_places_of_what_is_masked(made, name):
    files = CODE.replace("MADE", "0").replace("self.mask = torch.ones(n, n)", f"self.{name} = {made}")
    told = advice_in(files.replace("USE", f"z[self.{name}].sum()"))
    assert all(INTEGERS not in one for one in told), told


@pytest.mark.parametrize(
    ("steps", "once"),
    [
        ("mask = torch.rand(8) > 0.5", False),
        ("mask = torch.zeros(len(z), dtype=torch.bool)", False),
        ("mask = torch.randperm(8)[:4]", False),
        ("mask = torch.zeros(8, dtype=torch.bool)\n        mask[2] = True", False),
        ("mask = ~torch.eye(8, dtype=torch.bool)", True),
    ],
)
def test_a_mask_made_for_each_step(steps, once):
    told = advice_in(CODE.replace("MADE", "0").replace("return USE", f"{steps}\n        return z[mask].sum()"))
    assert told
    assert [INTEGERS in one for one in told] == [once] * len(told)
