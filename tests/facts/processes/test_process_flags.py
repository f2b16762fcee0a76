"""Flags of the process, why they are set, and models that use all their parameters."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.call_graph.index import Thing
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.models.all_used import uses_all_parameters
from torchperf_lint.facts.models.slow_attention import math_only
from torchperf_lint.facts.processes.process_flags import explained, flags_set

ENABLED = "torch.backends.cudnn.enabled"


def file_of(snippet):
    files = texts(snippet)
    return SourceFile(Project.of_texts(files), "a.py", files["a.py"])


@pytest.mark.parametrize(
    ("snippet", "values"),
    [
        (f"{ENABLED} = False", ["False"]),
        ("from torch.backends import cudnn\ncudnn.enabled = False", ["False"]),
        (f"old = {ENABLED}\n{ENABLED} = False\n{ENABLED} = old", []),
        ("class A: pass\nA.enabled = False", []),
    ],
)
def test_flags_that_are_set(snippet, values):
    assert [ast.unparse(flag.value) for flag in flags_set(file_of(snippet), ENABLED)] == values


@pytest.mark.parametrize(
    ("snippet", "told"),
    [
        ("{} = False", False),
        ("{} = False  # off", False),
        ("# see https://example.org/a/b/c\n{} = False", False),
        ("{} = False  # hangs since 8.9", True),
        ("# the kernel of this\n# layer is wrong\n{} = False", True),
    ],
)
def test_a_comment_may_explain_a_flag(snippet, told):
    file = file_of(snippet.format(ENABLED))
    (flag,) = flags_set(file, ENABLED)
    assert explained(file, flag.mark.expression) is told


@pytest.mark.parametrize(
    ("made", "forward", "whole"),
    [
        ("self.a = nn.Linear(1, 1)", "return self.a(x)", True),
        ("self.a = nn.Linear(1, 1)", "return x", False),
        ("self.a = nn.Linear(1, 1)", "return self.a(x) if x.any() else x", False),
        ("self.a = nn.Linear(1, 1)", "return self.a(x).detach()", False),
        ("self.a = make()", "return self.a(x)", False),
        ("self.n = int(2)", "return x", True),
    ],
)
def test_which_modules_use_all_their_parameters(made, forward, whole):
    cls = "class M(nn.Module):\n    def __init__(self):\n        {}\n    def forward(self, x):\n        {}\n"
    project = file_of(cls.format(made, forward)).project
    assert uses_all_parameters(project, Thing("class", "a.py", 0)) is whole


@pytest.mark.parametrize(
    ("snippet", "count"),
    [
        (
            "from torch.nn.attention import sdpa_kernel\nsdpa_kernel(SDPBackend.MATH)",
            1,
        ),
        ("from torch.nn.attention import sdpa_kernel\nsdpa_kernel([A.MATH, A.FLASH_ATTENTION])", 0),
        ("torch.backends.cuda.enable_flash_sdp(False)", 0),
        ("torch.backends.cuda.enable_flash_sdp(False)\ntorch.backends.cuda.enable_mem_efficient_sdp(False)", 1),
        ("torch.backends.cuda.sdp_kernel(enable_flash=False, enable_mem_efficient=False)", 1),
        ("torch.backends.cuda.sdp_kernel(enable_flash=False, enable_mem_efficient=False)\nf(create_graph=True)", 0),
    ],
)
def test_attention_without_fused_kernels(snippet, count):
    assert len(list(math_only(file_of(snippet)))) == count
