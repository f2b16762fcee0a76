"""Lists of numbers that index tensors on the device, though a tensor is at hand, or one copy would do."""

from __future__ import annotations

import ast
from textwrap import indent

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.indexing.host_indices import host_indices
from torchperf_lint.facts.indexing.listed_indices import as_index

CODE = """
    class Net(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor, names: list[str], rows: list[int], at: tuple):
            x, y = x.cuda(), y.cuda()
"""


def told(body):
    files = texts(CODE + indent(body, " " * 12))
    found = host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"]))
    return [ast.unparse(index.spot.expression) for index in found]


@pytest.mark.parametrize(
    ("body", "indices"),
    [
        ("top = x.argmax(1)\nrows = top.tolist()\nreturn y[rows]", ["rows"]),
        ("a, b = torch.where(x > 0)\nb = b.cpu().tolist()\nreturn y[None, b]", ["b"]),
        ("return y[x.argmax(1).cpu().numpy()]", ["x.argmax(1).cpu().numpy()"]),
        ("kept = [i for i, n in enumerate(names) if n]\nreturn x[kept] + y[kept]", ["kept", "kept"]),
        ("kept = []\nfor i in range(len(names)):\n    kept.append(i)\nreturn x[kept] + y[kept]", ["kept", "kept"]),
        (
            "parts = []\nfor name in set(names):\n    parts.append([i for i, n in enumerate(names) if n == name])\n"
            "for k in range(len(parts)):\n    y[parts[k]] += self.proj(x[parts[k]])",
            ["parts[k]", "parts[k]"],
        ),
    ],
)
def test_what_need_not_be_a_list(body, indices):
    assert told(body) == indices


PAIRS = """
row, col = list(), list()
for i in range(x.shape[1] - 1):
    for j in range(i + 1, x.shape[1]):
        row.append(i), col.append(j)
"""


@pytest.mark.parametrize(
    ("body", "findings"),
    [
        ("return torch.sum(x[:, row] * x[:, col], dim=2)", 1),
        ("p, q = x[:, row], x[:, col]\nreturn p * q", 1),
        ("p = x[:, row]\nq = x[:, col]\nreturn p * q", 2),
        ("return x[:, row] * x[:, [0, 2]]", 2),  # other advice
    ],
)
def test_lists_of_one_statement_are_told_together(body, findings):
    files = texts(CODE + indent(PAIRS + body, " " * 12))
    found = list(host_indices(SourceFile(Project.of_texts(files), "a.py", files["a.py"])))
    assert len(found) == 2
    assert len({index.of for index in found}) == findings


@pytest.mark.parametrize(
    "body",
    [
        "kept = [i for i, n in enumerate(names) if n]\nreturn x[kept]",  # host data, which has to cross
        "kept = [i for i, n in enumerate(names) if n]\nreturn x[kept], [names[i] for i in kept]",
        "rows = torch.zeros(3).tolist()\nreturn y[rows]",
        "return x[at], y[at]",  # a tuple is several indices
        "return [table[rows] for table in names], y[rows]",
        "kept = [i for i, n in enumerate(names) if n]\nreturn np.isfinite(x[kept]), np.isnan(y[kept])",
        "n = x.argmax().item()\nreturn y[n]",
        "table = {}\nkeys = [n for n in names]\nreturn table[keys], table[keys]",
    ],
)
def test_what_has_to(body):
    assert told(body) == []


@pytest.mark.parametrize(
    ("read", "index"),
    [
        ("x", "x"),
        ("x.nonzero().T", "x.nonzero(as_tuple=True)"),
        ("x.nonzero().t()", "x.nonzero(as_tuple=True)"),
        ("pairs.T", "tuple(pairs.T)"),
        ("x.nonzero()", "x.nonzero()"),
    ],
)
def test_rows_of_a_transposed_tensor_each_pick_along_a_dimension(read, index):
    assert as_index(ast.parse(read, mode="eval").body) == index
