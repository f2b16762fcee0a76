"""A file that computes with another framework than torch is no business of ours."""

from __future__ import annotations

import pytest
from snippets import texts

from torchperf_lint.facts.files.other_frameworks import computes_without_torch, is_for_another_device
from torchperf_lint.facts.files.project import Project


@pytest.mark.parametrize(
    ("imports", "without"),
    [
        ("import jax\nimport jax.numpy as jnp\n", True),
        ("import flax.linen as nn\nfrom common import save\n", True),
        ("import tensorflow as tf\n", True),
        ("import jax\nimport torch\n", False),
        ("from torch import nn\nimport tensorflow as tf\n", False),
        ("import numpy as np\n", False),
        ("", False),
    ],
)
def test_what_a_file_imports(imports, without):
    project = Project.of_texts({"a.py": imports + "x = 1\n"})
    assert computes_without_torch(project.index.outlines["a.py"]) is without


def test_snippets_import_torch():
    assert not computes_without_torch(Project.of_texts(texts("x = 1")).index.outlines["a.py"])


@pytest.mark.parametrize(
    ("path", "elsewhere"),
    [
        ("ops/_ascend/loss.py", True),
        ("strategies/xla.py", True),
        ("models/npu_patch.py", True),
        ("torch_xla/core/model.py", True),
        ("ops/gpu_and_npu/loss.py", False),
        ("models/explain.py", False),
        ("ops/relaxed.py", False),
        ("train.py", False),
    ],
)
def test_what_a_file_is_named_for(path, elsewhere):
    assert is_for_another_device(path) is elsewhere
