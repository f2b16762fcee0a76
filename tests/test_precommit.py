"""The hook, through the real `pre-commit try-repo`: it installs this source tree and runs the command on files."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SECONDS = 600
PARALLEL = "import torch.nn as nn\nmodel = nn.DataParallel(nn.Linear(2, 2))\n"
NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "metadata": {}, "source": ["# A model\n"]},
        {
            "cell_type": "code",
            "metadata": {},
            "outputs": [],
            "source": ["%matplotlib inline\n", "import torch.nn as nn"],
        },
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": ["\n", "model = nn.DataParallel(net)\n"]},
    ],
    "metadata": {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
_NO_INDEX = re.compile(r"NewConnectionError|ConnectTimeout|ReadTimeout|ProxyError|Name or service not known|SSLError")
_HEADER = re.compile(r"^(?P<place>\S.*?:\d+:\d+)\s+\w+ (?P<code>TPL\d+) ", re.MULTILINE)
_AUTHOR = ("-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false")


def _git(cwd: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *_AUTHOR, *arguments], cwd=cwd, env=_environment(), capture_output=True, check=True, encoding="utf-8"
    )
    return done.stdout


def _environment(**more: str) -> dict[str, str]:
    """Without what git sets while a hook of this repository runs, and without this tree on the path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") and k != "PYTHONPATH"}
    return {**kept, **more}


def _committed(directory: Path) -> Path:
    _git(directory, "init", "-q")
    _git(directory, "add", "--all", "--force")
    _git(directory, "commit", "-q", "-m", "everything")
    return directory


@pytest.fixture(scope="module")
def hook(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with this source tree as it is now, committed or not."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, which pre-commit needs")
    copy = tmp_path_factory.mktemp("hook")
    for name in _git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    return _committed(copy)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    for name in ("pkg", "tests"):
        (project / name).mkdir(parents=True)
        (project / name / "model.py").write_text(PARALLEL)
    (project / "explore.ipynb").write_text(json.dumps(NOTEBOOK))
    (project / "notes.txt").write_text("nn.DataParallel(net)\nexport CUDA_LAUNCH_BLOCKING=1\n")
    (project / "train.sh").write_text("export CUDA_LAUNCH_BLOCKING=1\npython train.py\n")
    (project / "Dockerfile.gpu").write_text("FROM x\nENV CUDA_LAUNCH_BLOCKING=1\n")
    (project / ".env").write_text("CUDA_LAUNCH_BLOCKING=1  # noqa: TPL552\n")
    return _committed(project)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the hook's environment, which it makes once for all its hooks."""
    return tmp_path_factory.mktemp("home")


def _try_repo(
    hook: Path, project: Path, home: Path, *arguments: str, name: str = "torchperf-lint"
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "try-repo", str(hook), name, "--color=never", *arguments],
        cwd=project,
        env=_environment(PRE_COMMIT_HOME=str(home), PIP_RETRIES="1", PIP_TIMEOUT="20", COLUMNS="200"),
        capture_output=True,
        timeout=SECONDS,
        check=False,
        encoding="utf-8",
    )
    if done.returncode == 3 and _NO_INDEX.search(done.stdout):
        pytest.skip("pip reaches no package index, and the hook's environment needs one")
    return done


def test_try_repo_names_the_places_in_files_and_notebooks(hook: Path, project: Path, home: Path) -> None:
    done = _try_repo(hook, project, home, "--all-files")
    found = {(match["place"], match["code"]) for match in _HEADER.finditer(done.stdout)}
    assert found == {("pkg/model.py:2:9", "TPL751"), ("explore.ipynb:cell 2:2:9", "TPL751")}, done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in done.stdout


def test_the_hook_for_scripts_and_settings_names_the_places_in_them(hook: Path, project: Path, home: Path) -> None:
    done = _try_repo(hook, project, home, "--all-files", name="torchperf-lint-text")
    found = {(match["place"], match["code"]) for match in _HEADER.finditer(done.stdout)}
    assert found == {("train.sh:1:8", "TPL552"), ("Dockerfile.gpu:2:5", "TPL552")}, done.stdout + done.stderr
    assert done.returncode == 1
    assert "Traceback" not in done.stdout


def test_files_left_out_by_force_exclude_pass(hook: Path, project: Path) -> None:
    """What the hook runs for a commit that touches nothing but tests."""
    entry = re.search(r"^  entry: torchperf-lint (.+)$", (hook / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert entry
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", *entry[1].split(), "tests/model.py"],
        cwd=project,
        env=_environment(PYTHONPATH=str(hook)),
        capture_output=True,
        timeout=SECONDS,
        check=False,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr
