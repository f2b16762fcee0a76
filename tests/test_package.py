"""What is built and installed: entry points, the typing marker, and what the command imports."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from fake_rules import ENVIRONMENT

import torchperf_lint

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
ENTRY_POINT = re.compile(r'^[\w-]+ = "(torchperf_lint[\w.]*):(\w+)"$', re.MULTILINE)
TRAIN = """\
import torch
from torch import nn

def train(model: nn.Module, loader, optimizer, criterion: nn.Module, device):
    for x, y in loader:
        loss = criterion(model(x.to(device, non_blocking=True)), y.to(device, non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
"""


def python(*arguments, cwd, first=None):
    """Python in a process of its own; `first` is a directory that is searched before all others."""
    search = ENVIRONMENT["PYTHONPATH"] if first is None else os.pathsep.join((str(first), ENVIRONMENT["PYTHONPATH"]))
    environment = {**ENVIRONMENT, "PYTHONPATH": search}
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


@pytest.fixture
def poisoned(tmp_path):
    """A directory of modules that fail when imported."""
    directory = tmp_path / "poisoned"
    for name in ("torch", "torchvision", "numpy", "pynvml", "psutil"):
        (directory / name).mkdir(parents=True)
        (directory / name / "__init__.py").write_text(f"raise RuntimeError('{name} was imported')\n")
    return directory


def imported_by(code, cwd):
    done = python("-c", f"{code}\nimport sys; print(*sys.modules, file=sys.stderr)", cwd=cwd)
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_the_version_is_the_one_installed():
    try:
        installed = importlib.metadata.version("torchperf-lint")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the package is not installed, only on the path")
    assert installed == torchperf_lint.__version__


def test_entry_points_lead_somewhere():
    found = ENTRY_POINT.findall(PYPROJECT)
    assert len(found) == 2
    for module, name in found:
        assert callable(getattr(importlib.import_module(module), name))


def test_the_wheel_holds_the_package_and_nothing_else(tmp_path):
    pytest.importorskip("hatchling", reason="hatchling, which builds the wheel, is not installed")
    done = python("-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (built,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(built) as wheel:
        names = set(wheel.namelist())
        (info,) = {name.partition("/")[0] for name in names if ".dist-info/" in name}
        entry_points = wheel.read(f"{info}/entry_points.txt").decode()
    assert info == f"torchperf_lint-{torchperf_lint.__version__}.dist-info"
    assert {name.partition("/")[0] for name in names} == {"torchperf_lint", info}
    sources = {path.relative_to(ROOT).as_posix() for path in (ROOT / "torchperf_lint").rglob("*.py")}
    assert sources | {"torchperf_lint/py.typed", f"{info}/licenses/LICENSE"} <= names
    assert "[flake8.extension]\nTPL = torchperf_lint.adapters.flake8:Plugin\n" in entry_points
    assert "[pytest11]\ntorchperf = torchperf_lint.adapters.pytest_plugin\n" in entry_points
    assert "[console_scripts]\ntorchperf-lint = torchperf_lint.adapters.cli:main\n" in entry_points


def test_nothing_of_torch_is_imported(poisoned, tmp_path):
    done = python("-m", "torchperf_lint", "--version", cwd=tmp_path, first=poisoned)
    assert (done.returncode, done.stdout) == (0, f"torchperf-lint {torchperf_lint.__version__}\n")
    (tmp_path / "train.py").write_text(TRAIN)
    options = ("--no-cache", "--output-format", "concise")
    done = python("-m", "torchperf_lint", *options, "train.py", cwd=tmp_path, first=poisoned)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("train.py:10:15: TPL101 ")
    assert done.stdout.count("\n") == 1


def test_the_command_imports_neither_parser_nor_colours_before_it_needs_them(tmp_path):
    heavy = {"libcst", "rich", "flake8"}
    assert not imported_by("import torchperf_lint.adapters.cli", tmp_path) & (heavy | {"argparse", "json"})
    (tmp_path / "plain.py").write_text("x = 1\n")
    lint = "from torchperf_lint.adapters.cli import main; main(['--output-format', 'concise', 'plain.py'])"
    assert not imported_by(lint, tmp_path) & (heavy - {"libcst"})
