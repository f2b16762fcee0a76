"""What becomes of what a mask selects."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.purposes import CHECKED, COUNTED, FILLED, FIRST, LOST, REDUCED, SCATTERED, WRITTEN
from torchperf_lint.facts.indexing.selected import purpose
from torchperf_lint.facts.indexing.selections import STORE, base_of, selections
from torchperf_lint.facts.indexing.selections_again import together

CODE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(4, 4)
            self.criterion = nn.L1Loss()

        def forward(self, x: torch.Tensor, y: torch.Tensor, other: bool):
            x = x.cuda()
            m = x > 0
            {statements}
"""


def found(*statements):
    files = texts(CODE.format(statements="\n            ".join(statements)))
    return list(selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))


@pytest.mark.parametrize(
    ("statements", "why"),
    [
        (("return x[m].mean()",), REDUCED),
        (("return x[m].log().sum(0)",), REDUCED),
        (("z = x[m] * 2", "return torch.sum(z)"), REDUCED),
        (("return x[:, m].sum(1)",), REDUCED),
        (("z = x[m] * 3 + 1", "return torch.bincount(z, minlength=9)"), REDUCED),
        (("return F.l1_loss(x[m], 1)",), LOST),
        (("return self.criterion(x.masked_select(m), 1)",), LOST),
        (("rows = m.nonzero().view(-1)", "return torch.index_select(x, 0, rows).sum()"), REDUCED),
        (("rows = torch.autograd.Variable(m.nonzero())", "return F.l1_loss(x.index_select(0, rows.data), 1)"), LOST),
        (("if y:", "    x = x.masked_select(m)", "else:", "    x = x + 1", "return x.sum()"), REDUCED),
        (("rows = m.nonzero().view(-1)", "return torch.gather(x, index=rows, dim=0).sum()"), REDUCED),
        (("rows = m.nonzero().view(-1)", "return x.gather(0, rows).sum()"), REDUCED),
        (("rows = m.nonzero().view(-1)", "return x.gather(1, rows).sum()"), None),
        (("rows = m.nonzero().view(-1)", "return x.index_select(1, rows).sum()"), None),
        (("rows = m.nonzero().view(-1)", "return self.proj(x.index_select(0, rows)).sum()"), None),
        (("i, j = torch.where(m)", "return x[i, j].mean()"), REDUCED),
        (("i, j = m.nonzero(as_tuple=True)", "return F.l1_loss(x[i, j], y[i, j])"), LOST),
        (("i, j = torch.where(m)", "x[i, j] = 0"), FILLED),
        (("x.index_fill_(1, torch.nonzero(m).squeeze(1), 0)",), FILLED),
        (("x.index_fill_(dim=1, index=m.nonzero().squeeze(1), value=0)",), FILLED),
        (("rows = m.nonzero().view(-1)", "return x.index_fill(0, rows, -1.0)"), FILLED),
        (("x.index_fill_(1, m.nonzero().squeeze(1), y.max())",), None),
        (("x.index_copy_(1, m.nonzero().squeeze(1), y)",), None),
        (("x.index_add_(1, m.nonzero().squeeze(1), y)",), None),
        (("k = m.nonzero()", "return x[k[:, 0], k[:, 1]].sum()"), REDUCED),
        (("k = m.nonzero()", "return x[k[:, 1], k[:, 0]].sum()"), None),
        (("k = m.nonzero()", "return x[k[:, 0]].softmax(0)"), None),
        (("i, j = torch.where(m)", "return F.l1_loss(x[i], y[j])"), None),
        (("i, j = torch.where(m)", "return x[i, j].mean(), i"), None),
        (("i, j = torch.where(m)", "return x[j, i].mean()"), None),
        (("i, j = torch.where(m)", "return x[:, i, j].mean()"), None),
        (("x[m].fill_(0)",), FILLED),
        (("z = x[m].fill_(0)", "return z"), None),
        (("x[m] = x.mean()",), WRITTEN),
        (("x[m] *= 2",), WRITTEN),
        (("z = y.masked_select(m)", "x.masked_scatter_(m, z)"), WRITTEN),
        (("z = y.masked_select(m)", "m = m.contiguous().view(-1, 1)", "x.masked_scatter_(m, z)"), WRITTEN),
        (("return torch.masked_scatter(x, m, torch.pow(torch.masked_select(x, m), 3) / 2)",), WRITTEN),
        (("z = y.masked_select(m)", "m = m.t()", "x.masked_scatter_(m, z)"), None),
        (("z = y.masked_select(m)", "x.masked_scatter_(~m, z)"), None),
        (("x.masked_scatter_(m, self.proj(y.masked_select(m)))",), None),
        (("x[m] = y",), SCATTERED),
        (("x[:, m] = self.proj(y)",), SCATTERED),
        (("x[torch.where(m)] = 0",), FILLED),
        (("return x.sum() / x[m].numel()",), COUNTED),
        (("if len(x[m]) > 3: raise ValueError",), CHECKED),
        (("z = torch.where(m[0])[0]", "return z[0] if len(z) > 0 else 3"), FIRST),
        (("z = m[0].nonzero()", "if z.numel():", "    return z[-1, 0]"), FIRST),
        (("z = torch.where(m[0])[0]", "return z[0], z[1] if len(z) > 0 else 3"), None),
        (("z = torch.where(m[0])[0]", "return z[0], z if len(z) > 0 else 3"), None),
        (("z = torch.where(m[0])[0]", "return z[0]"), None),
        (("return self.proj(x[m])",), None),
        (("return x[m]",), None),
        (("return x[m].std()",), None),
        (("return x[m].sum(1)",), None),
        (("return m.nonzero()",), None),
        (("return x.unique()",), None),
    ],
)
def test_a_selection_has_a_purpose(statements, why):
    (one,) = found(*statements)
    assert base_of(one) is not None
    assert purpose(one) == why


def test_selections_in_two_branches_do_not_meet():
    one, other = found("if other: return x[m]", "return y[m]")
    assert not together(one, other)
    one, other = found("if other: x = x[m]", "return y[m]")
    assert together(one, other)


@pytest.mark.parametrize(
    "statements",
    [
        ("x[m] = self.proj(y[m])",),
        ("z = y[y > 1].softmax(0)", "x[m] = z @ z.T"),
        ("rows = m.nonzero()", "x[m] = self.proj(y[rows])"),
        ("x[m] = torch.abs(context.numerator)",),
        ("x[y, m] = self.proj(y)",),
    ],
)
def test_what_has_been_selected_or_stands_beside_indices_is_not_scattered(statements):
    stored = [selection for selection in found(*statements) if selection.form == STORE]
    assert [purpose(selection) for selection in stored] == [None]


@pytest.mark.parametrize(("mask", "count"), [("x > 0", 1), ("np.zeros(3) > 0", 0), ("torch.zeros(3) > 0", 0)])
def test_what_a_mask_on_the_device_picks_from_is_there_too(mask, count):
    """Of `z` nothing is known but that."""
    statements = (f"m = {mask}", "z = self.make(other)", "return z[m].mean()")
    assert sum(base_of(selection) is not None for selection in found(*statements)) == count


SEVERAL = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(8, 8)

        def spline(self, x):
            return x * 2, x.exp(), 3

        def forward(self, x: torch.Tensor, counts):
            x = self.net(x.cuda())
            y, mask = torch.zeros_like(x), x > 0
            {statement}
            return y, x
"""


@pytest.mark.parametrize(
    ("statement", "stores"),
    [
        ("y[mask], x[mask] = self.spline(x)[:2]", 2),
        ("y[mask], x[mask], _ = self.spline(x)", 2),
        ("y[mask], _, x[mask] = self.spline(x)", 1),
        ("y[mask], x[mask] = x.exp().flatten(), 0.0", 1),
        ("y[mask], counts[0] = 0.0, 1", 0),
    ],
)
def test_what_one_assignment_puts_into_several(statement, stores):
    files = texts(SEVERAL.format(statement=statement))
    found = selections(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    assert sum(one.form == STORE for one in found) == stores
