"""How many dimensions a tensor has."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.files.spots import hot_nodes
from torchperf_lint.facts.values.dimensions import dimensions

CODE = """
    def outside(given, other):
        print(other)
        return given.amax()

    def best(scores):
        if scores.sum() > 0:
            return scores.argmax()
        return scores.view(-1)[0]

    def rows(scores, some):
        return scores.view(-1), some, scores[some]

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Linear(8, 8)
            self.register_buffer("table", torch.zeros(4, 4))

        def helper(self, given, other):
            print(given)
            return other

        def forward(self, x: torch.Tensor, y: torch.Tensor, n: int):
            x, y = x.cuda(), y.cuda()
            batch, width = x.shape
            {before}
            print({asked})
            return self.helper(x.argmax(), x[0]) + self.helper(y.sum(), y)
"""


def known(asked, before="pass"):
    files = texts(CODE.format(asked=asked, before=before.replace("; ", "\n            ")))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    called = (s for s in hot_nodes(file, ast.Call) if ast.unparse(s.expression.func) == "print" and s.start[0] > 28)
    spot = next(called)
    return dimensions(file.project.values, spot.expression.args[0], spot.frame)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ("x", 2),
        ("y", None),
        ("x.argmax()", 0),
        ("torch.max(y)", 0),
        ("torch.max(x, y)", None),
        ("x.sum(1)", 1),
        ("x.sum((0, 1))", 0),
        ("x.sum(1, keepdim=True)", 2),
        ("x.sum(1, keepdim=n)", None),
        ("y.sum(1)", None),
        ("torch.sum(x, dim=0)", 1),
        ("x.max(1)[1]", 1),
        ("x.max(1).indices", 1),
        ("x.topk(3, 1)[1]", 2),
        ("torch.randn((n,), device=x.device).topk(y.sum(), dim=-1).indices", 1),
        ("torch.topk(x, y.sum(), dim=-1).indices", 2),
        ("x.max(1)", None),
        ("x[0]", 1),
        ("x[n]", 1),
        ("x[n, 0]", 0),
        ("x[n][0]", 0),
        ("x[0][0][0]", None),
        ("x[:, 0]", 1),
        ("x[None, 0]", 2),
        ("x[..., 0]", 1),
        ("x[y]", None),
        ("x[x.argmax()]", 1),
        ("torch.unique(y)", 1),
        ("torch.unique(y)[n]", 0),
        ("torch.unique(y, dim=0)", None),
        ("torch.unique(y, return_counts=True)[1]", 1),
        ("torch.unique(y, return_inverse=True)[1]", None),
        ("torch.where(y > 0)[0][n]", 0),
        ("y.nonzero()[n]", 1),
        ("y.nonzero(as_tuple=True)[0]", 1),
        ("y.view(-1)[0]", 0),
        ("y.reshape(n, -1)", 2),
        ("y.view(y.shape)", None),
        ("x + 1", 2),
        ("x.argmax() // n", 0),
        ("x.argmax() + y", None),
        ("x[0] + x", 2),
        ("x @ x", 2),
        ("x @ x[0]", 1),
        ("torch.zeros(n)", None),
        ("torch.zeros(n, n)", 2),
        ("torch.zeros(4)", 1),
        ("torch.randint(0, n, (1,))", 1),
        ("torch.randint(0, n, ())", 0),
        ("torch.tensor(3)", 0),
        ("torch.tensor(n)", None),
        ("torch.tensor([1, 2])", 1),
        ("self.table", 2),
        ("self.table[n][0]", 0),
        ("self.net(x)", None),
        ("y.squeeze()", None),
        ("x.unsqueeze(0)", 3),
        ("np.zeros(4)", None),
        ("x.eq(y)", None),
        ("best(y)", 0),
        ("rows(y, n)", None),
    ],
)
def test_by_the_expression(asked, count):
    assert known(asked) == count


@pytest.mark.parametrize(
    ("before", "asked", "count"),
    [
        ("best, where = x.max(1)", "where", 1),
        ("best, where = y.view(-1).max(0)", "where", 0),
        ("z = x[0]; z = z.long()", "z", 1),
        ("lengths = y.sum(dim=1) - 1", "lengths[n]", 0),
        ("lengths = x + 1", "lengths", 2),
        ("length = y.sum(dim=1)", "length", None),
        ("z = x.argmax() if n else y", "z", None),
        ("z = x.sum(); z += 1", "z", 0),
        ("z = x.sum(); z += y", "z", None),
        ("a, b = x[0], y", "a", 1),
        ("a, b, c = rows(x, y)", "a[n]", 0),
        ("a, b, c = rows(x, y)", "b", None),
        ("a, b = x[0], y", "b", None),
        ("u, c = torch.unique(y, return_counts=True)", "c[n]", 0),
        ("assert y.dim() == 1", "y", 1),
        ("assert y.ndim == 1 and n > 0", "y[0]", 0),
        ("assert y.ndim == 1 or n > 0", "y", None),
        ("if y.dim() != 1: raise ValueError(y)", "y", 1),
        ("if y.dim() != 1: y = y.flatten()", "y", None),
        ("assert len(y.shape) == 3", "y", 3),
        ("y.H", "y", 2),
        ("torch.bmm(y, y)", "y", 3),
        ("if y.dim() == 3: y.H", "y", None),
        ("if n: b, t, c = y.shape", "y", None),
        ("b, t, c = y.size()", "y", 3),
        ("b, *rest = y.size()", "y", None),
        ("assert y.dim() == 1; y = y[None] * y", "y", 2),
    ],
)
def test_by_what_is_bound_or_told_above(before, asked, count):
    assert known(asked, before) == count


@pytest.mark.parametrize(
    ("loop", "asked", "count"),
    [
        ("for i in torch.unique(y)", "i", 0),
        ("for row in x", "row", 1),
        ("for row in y", "row", None),
        ("for i, row in enumerate(x)", "row", 1),
        ("for i, row in enumerate(x)", "i", None),
        ("for row, other in zip(x, y)", "row", 1),
        ("for row, other in zip(y, x[0])", "other", 0),
        ("for j, (row, other) in enumerate(zip(x, x[0]))", "other", 0),
        ("for i in range(n)", "x[i, i]", 0),
    ],
)
def test_of_what_a_loop_takes(loop, asked, count):
    assert known(f"[{asked} {loop}][0]") is None
    code = CODE.replace("print({asked})", f"{loop}:\n                print({asked})").format(before="pass")
    files = texts(code)
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spot = next(s for s in hot_nodes(file, ast.Call) if ast.unparse(s.expression) == f"print({asked})")
    assert dimensions(file.project.values, spot.expression.args[0], spot.frame) == count


@pytest.mark.parametrize(("name", "count"), [("given", 0), ("other", None)])
def test_what_all_callers_give(name, count):
    files = texts(CODE.format(asked="x", before="pass"))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    spot = next(s for s in hot_nodes(file, ast.Call) if ast.unparse(s.expression) == "print(given)")
    asked = ast.copy_location(ast.Name(name, ast.Load()), spot.expression.args[0])
    assert dimensions(file.project.values, asked, spot.frame) == count
