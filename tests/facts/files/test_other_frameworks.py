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
    assert computes_without_torch(project, "a.py") is without


def test_snippets_import_torch():
    assert not computes_without_torch(Project.of_texts(texts("x = 1")), "a.py")


@pytest.mark.parametrize(
    ("files", "without"),
    [
        # `from ours.imports import *` brings the framework along, or torch.
        ({"ours/imports.py": "import mxnet as mx\n", "ours/train.py": "from ours.imports import *\n"}, True),
        ({"ours/imports.py": "import mxnet\nimport torch\n", "ours/train.py": "from ours.imports import *\n"}, False),
        ({"ours/imports.py": "import numpy as np\n", "ours/train.py": "from ours.imports import *\n"}, False),
        # Modules that take all names of each other.
        ({"ours/a.py": "from ours.train import *\nimport jax\n", "ours/train.py": "from ours.a import *\n"}, True),
        # A helper without imports, in a project of another framework, and in one that has torch or a library on it.
        ({"ours/ops.py": "import cupy as cp\n", "ours/train.py": "import numpy as np\n"}, True),
        ({"ours/ops.py": "import cupy as cp\n", "ours/x.py": "import torch\n", "ours/train.py": ""}, False),
        ({"ours/ops.py": "import jax\n", "ours/x.py": "import fastai\n", "ours/train.py": ""}, False),
        ({"ours/ops.py": "import jax\n", "ours/x.py": "import torchrl\n", "ours/train.py": ""}, False),
    ],
)
def test_what_the_project_imports(files, without):
    project = Project.of_texts({"ours/__init__.py": "", **{path: text + "x = 1\n" for path, text in files.items()}})
    assert computes_without_torch(project, "ours/train.py") is without


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
