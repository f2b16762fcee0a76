"""Which factorisations ask the device whether they worked."""

from __future__ import annotations

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.reads.checked_solutions import checked_solutions

MODULE = """
class M(nn.Module):
    def forward(self, x: torch.Tensor, other):
        x, host = x.to("cuda"), torch.ones(2, 2)
        {statement}
        return x
"""


def _found(statement: str) -> list[str]:
    text = IMPORTS + MODULE.replace("{statement}", statement)
    file = SourceFile(Project.of_texts({"m.py": text}), "m.py", text)
    return [solution.function for solution in checked_solutions(file)]


@pytest.mark.parametrize(
    ("statement", "function"),
    [
        ("y = torch.linalg.inv(x)", "inv"),
        ("y = torch.linalg.inv(A=x)", "inv"),
        ("y = torch.inverse(x)", "inverse"),
        ("y = (x @ x.mT).inverse()", "inverse"),
        ("y = torch.linalg.solve(x, x)", "solve"),
        ("y = torch.linalg.cholesky(x)", "cholesky"),
        ("y = x.cholesky()", "cholesky"),
        ("lu, pivots = torch.linalg.lu_factor(x)", "lu_factor"),
    ],
)
def test_a_matrix_of_the_device_is_checked(statement: str, function: str) -> None:
    assert _found(statement) == [function]


@pytest.mark.parametrize(
    "statement",
    [
        "y, info = torch.linalg.inv_ex(x)",
        "y = torch.linalg.solve_triangular(x, x, upper=True)",
        "y = torch.linalg.inv(host)",
        "y = host.inverse()",
        "y = other.inverse(x)",
        "y = other.cholesky()",
        "torch.linalg.inv(x, out=y)",
        "try:\n            y = torch.linalg.cholesky(x)\n        except RuntimeError:\n            y = x",
    ],
)
def test_others_are_not(statement: str) -> None:
    assert _found(statement) == []
