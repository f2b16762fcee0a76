"""One answer: for every hash seed, number of jobs, order of paths, and for a file alone or within its project."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest
from expectations import FIXTURES, PROJECTS, ROOT, RULE_FOLDERS

SECONDS = 300
SOME_RULES = RULE_FOLDERS[::3]
"""Their fixtures are enough of a project: a run over all takes three times as long, and each test needs its own."""


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A project of many fixtures, with a configuration file so that its root is known."""
    root = tmp_path_factory.mktemp("tree")
    (root / "torchperf-lint.toml").write_text("")
    for folder in (*SOME_RULES, *PROJECTS):
        target = root / folder.relative_to(FIXTURES)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"))
        if folder in PROJECTS:
            (target / "torchperf-lint.toml").write_text("")
    return root


def command(tree, *arguments, seed="0", path=()):
    """The JSON text that the command line prints."""
    search = os.pathsep.join(map(str, (*path, ROOT)))
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--output-format", "json", "--no-cache", *arguments],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.fixture(scope="module")
def whole(tree):
    return command(tree, "--jobs", "1", ".")


def findings_by_path(text):
    """Path -> findings; a file without findings is absent."""
    found: dict[str, list[object]] = {}
    for finding in json.loads(text)["findings"]:
        found.setdefault(finding["path"], []).append(finding)
    return found


def test_there_is_something_to_compare(whole):
    assert len(findings_by_path(whole)) >= len(SOME_RULES)
    assert json.loads(whole)["errors"] == []


def test_the_hash_seed_the_jobs_and_the_order_of_paths_change_nothing(tree, whole):
    """Each run changes several things at once: a run takes long, and each must give the same text."""
    files = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.py"))
    assert command(tree, "--jobs", "2", *reversed(files), seed="1") == whole
    assert command(tree, "--jobs", "2", *files[::2], *files[1::2], files[0], seed="2") == whole


def test_a_file_alone_answers_as_within_its_project(tree, whole):
    expected = findings_by_path(whole)
    files = sorted(path.relative_to(tree).as_posix() for path in tree.rglob("*.py") if "tpl" not in path.parent.name)
    files = [file for file in files if file in expected] + [f"{SOME_RULES[0].name}/bad.py"]
    assert len(files) > len(PROJECTS) / 2
    for file in files:
        alone = {file: expected[file]} if file in expected else {}
        assert findings_by_path(command(tree, file)) == alone, file


def test_a_file_alone_answers_the_same_from_its_own_directory(tree, whole):
    """Paths are shown from the working directory; nothing else may depend on it."""
    expected = findings_by_path(whole)
    nested = [path for path in expected if path.startswith("projects/") and path.count("/") > 2]
    assert nested
    for path in nested:
        file = tree / path
        alone = json.loads(command(file.parent, file.name))["findings"]
        assert [place(finding) for finding in alone] == [place(finding) for finding in expected[path]], path


def place(finding):
    return tuple(finding[key] for key in ("line", "column", "end_line", "end_column", "code", "severity", "message"))


def test_torch_is_never_imported(tree, whole, tmp_path):
    for name in ("torch", "numpy", "torchvision", "lightning"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('{name} was imported')\n")
    assert command(tree, "--jobs", "1", ".", seed="3", path=(tmp_path,)) == whole
    listed = subprocess.run(
        [sys.executable, "-c", "import torch"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert "torch was imported" in listed.stderr
