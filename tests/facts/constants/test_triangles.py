"""Triangles of ones that numpy makes: torch makes them on the device."""

import ast

import pytest
from calls_in import site_of
from snippets import texts

from torchperf_lint.facts.constants.triangles import is_triangle
from torchperf_lint.facts.copies.computed import computed_upload
from torchperf_lint.facts.copies.host_data import TRIANGLE, upload_at
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame


def triangle(expression, before=""):
    """What is said of the argument of `take(...)`."""
    lines = [*before.splitlines(), f"take({expression})"]
    text = "def f(x, scores, n):\n" + "".join(f"    {line}\n" for line in lines)
    project = Project.of_texts(texts(text))
    body = project.body("a.py")
    (call,) = (c for c in ast.walk(body.functions[1]) if isinstance(c, ast.Call) and ast.unparse(c.func) == "take")
    return is_triangle(project.values, call.args[0], Frame("a.py", 1, body.at(call.args[0])))


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("np.triu(np.ones((1, n, n)), k=1)", ""),
        ("np.tril(np.ones((n, n), dtype=int)).astype(np.float32)", ""),
        ("np.triu(np.ones((n, n)), k=1).astype('uint8') == 0", ""),
        ("1 - np.tril(np.ones((n, n)))", ""),
        ("np.triu(np.ones((n, n)), 1) * -1e9", ""),
        ("np.tri(n)[None, None]", ""),
        ("mask == 0", "mask = np.triu(np.ones((1, n, n)), k=1).astype('uint8')"),
        ("np.triu(whole, 1)", "whole = np.ones((n, n))"),
        ("np.triu(np.full((n, n), 1.0), 1)", ""),
    ],
)
def test_a_triangle(expression, before):
    assert triangle(expression, before)


@pytest.mark.parametrize(
    ("expression", "before"),
    [
        ("np.triu(scores)", ""),  # of what the host has
        ("np.triu(np.ones((n, n))) * scores", ""),
        ("np.triu(np.ones((n, n)))[scores]", ""),
        ("np.triu(np.random.rand(n, n))", ""),
        ("torch.triu(torch.ones(n, n))", ""),
        ("scores.triu()", ""),
        ("mask", "mask = np.triu(np.ones((n, n)))\nmask[scores] = 0"),
        ("np.triu(whole)", "whole = np.ones((n, n))\nwhole[scores] = 0"),
        ("mask", "mask = np.triu(np.ones((n, n)))\nif n > 4:\n    mask = scores"),
    ],
)
def test_what_is_none(expression, before):
    assert not triangle(expression, before)


def test_what_uploads_one():
    site = site_of(
        """
        class M(nn.Module):
            def forward(self, x):
                mask = np.tril(np.ones((x.size(1), x.size(1)), dtype=int))
                return x * torch.from_numpy(mask).to(x.device)
        """,
        "torch.from_numpy(mask).to(x.device)",
    )
    assert upload_at(site.file.project.values, site.call, site.frame).kind == TRIANGLE


def test_what_a_helper_makes_of_one():
    site = site_of(
        """
        def subsequent(size):
            mask = np.triu(np.ones((1, size, size)), k=1).astype("uint8")
            return torch.from_numpy(mask) == 0

        class M(nn.Module):
            def forward(self, x):
                return x * subsequent(x.size(1)).to(x.device)
        """,
        "subsequent(x.size(1)).to(x.device)",
    )
    assert computed_upload(site.file.project.values, site.call, site.frame).kind == TRIANGLE
