"""Branches for versions of torch that hardly anybody has."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.outlines.torch_versions import runs_with_old_torch


@pytest.mark.parametrize(
    ("test", "old"),
    [
        ("digit_version(torch.__version__) > digit_version('1.6.0')", False),
        ("torch.__version__ < '1.8'", True),
        ("TORCH_VERSION >= (1, 8)", None),
        ("version.parse(torch.__version__) <= version.parse('1.13')", True),
        ("torch.__version__ >= '2.3'", None),
        ("torch.__version__ == '1.8'", None),
        ("numpy_version < '1.8'", None),
        ("x < '1.8'", None),
    ],
)
def test_old_versions(test, old):
    assert runs_with_old_torch(ast.parse(test, mode="eval").body) is old
