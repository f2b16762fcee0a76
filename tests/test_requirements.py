"""The oldest torch that a project says it runs on."""

from __future__ import annotations

import pytest

from torchperf_lint.lint import Target, lint
from torchperf_lint.requirements import oldest_torch, torch_bounds
from torchperf_lint.settings import Settings


@pytest.mark.parametrize(
    ("name", "text", "oldest"),
    [
        ("requirements.txt", "numpy\ntorch==1.6.0\ntorchvision==0.7.0\n", (1, 6)),
        ("requirements.txt", "torch>=1.8,<2.1  # at most\n", (2, 0)),
        ("requirements.txt", "torch<2.0\n", (1, 13)),
        ("requirements.txt", "torch<=1.12\n", (1, 12)),
        ("requirements.txt", "torch!=2.0.1\n", None),
        ("requirements.txt", "torch\n", None),
        ("requirements.txt", "torch>=1.8\n", None),
        ("requirements.txt", "torch~=1.8\n", None),
        ("requirements.txt", "# torch==1.6 was the first\ntorchvision==0.15\npytorch-lightning>=1.5\n", None),
        ("requirements.txt", "torch[opt] == 2.4\n", (2, 4)),
        ("requirements.txt", "torch==1.7.1+cu110 ; sys_platform == 'linux'\n", (1, 7)),
        ("requirements.txt", "git+https://github.com/pytorch/pytorch\n", None),
        ("requirements/base.txt", "torch == 1.10.*\n", (1, 10)),
        ("pyproject.toml", '[project]\ndependencies = ["numpy>=1.20", "torch==1.11"]\n', (1, 11)),
        ("pyproject.toml", '[tool.poetry.dependencies]\npython = "^3.8"\ntorch = "2.0"\n', None),
        ("setup.py", "setup(install_requires=['torch<1.5.0', 'tqdm'])\n", (1, 4)),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch == 1.9\n", (1, 9)),
        ("environment.yml", "dependencies:\n  - python=3.8\n  - pytorch=1.7.0\n  - pip\n", (1, 7)),
        ("environment.yaml", "dependencies:\n  - pytorch::pytorch=2.1\n", (2, 1)),
        ("sub/requirements.txt", "torch==1.6.0\n", None),
    ],
)
def test_what_files_say(tmp_path, name, text, oldest):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert oldest_torch(tmp_path) == oldest


@pytest.mark.parametrize(
    ("text", "admitted"),
    [
        ("torch>=1.8\n", (1, 8)),
        ("torch>=1.8,<2.1\n", (1, 8)),
        ("torch~=1.8\n", (1, 8)),
        ("torch==1.6.0\n", (1, 6)),
        ("torch<2.0\n", None),
        ("torch\n", None),
        ("torch!=2.0.1\n", None),
        ("torchvision>=0.9\n", None),
    ],
)
def test_what_a_lower_bound_admits(tmp_path, text, admitted):
    (tmp_path / "requirements.txt").write_text(text)
    assert torch_bounds(tmp_path).admitted == admitted


def test_the_first_file_that_names_torch_decides(tmp_path):
    (tmp_path / "requirements.txt").write_text("torch==1.6.0\n")
    assert oldest_torch(tmp_path) == (1, 6)
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["torch==2.4"]\n')
    assert oldest_torch(tmp_path) == (2, 4)


@pytest.mark.parametrize(
    ("main", "oldest"),
    [
        ("numpy\ntorch\n", None),
        ("torch>=2.0  # any\n", None),
        ("numpy\ntorchvision\n", (1, 13)),
        ("torch==2.1\n", (2, 1)),
        ("torch-scatter\n", (1, 13)),
    ],
)
def test_files_for_a_purpose_beside_those_for_all(tmp_path, main, oldest):
    (tmp_path / "requirements.txt").write_text(main)
    (tmp_path / "requirements_onnx_encoder.txt").write_text("torch==1.13.1\n")
    assert oldest_torch(tmp_path) == oldest


def test_an_environment_is_for_all(tmp_path):
    (tmp_path / "requirements.txt").write_text("torch\n")
    (tmp_path / "environment.yml").write_text("dependencies:\n  - pytorch=1.7.0\n")
    assert oldest_torch(tmp_path) == (1, 7)


def codes(tmp_path, **settings):
    file = tmp_path / "train.py"
    file.write_text("import torch\n\nscaler = torch.cuda.amp.GradScaler()\n")
    target = Target(root=tmp_path, settings=Settings(no_cache=True, **settings), files=(file,))
    return [finding.code for finding in lint(target).findings]


def test_what_that_torch_lacks_is_not_asked_for(tmp_path):
    assert codes(tmp_path) == ["TPL507"]
    (tmp_path / "requirements.txt").write_text("torch==1.6.0\n")
    assert codes(tmp_path) == []
    assert codes(tmp_path, target_torch="2.4") == ["TPL507"]
