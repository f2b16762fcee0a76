"""Whatever stands in a directory, the command line ends with an answer: findings, or an entry in `errors`."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from torchperf_lint import catalog
from torchperf_lint.facts.syntax import text
from torchperf_lint.lint import Target, lint
from torchperf_lint.model import Confidence
from torchperf_lint.settings import Settings

ROOT = Path(__file__).parent.parent
SECONDS = 120
PARALLEL = "import torch.nn as nn\nmodel = nn.DataParallel(nn.Linear(2, 2))\n"
TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader


def train(dataset):
    model = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    total = 0.0
    for x, y in DataLoader(dataset, num_workers=2, pin_memory=True):
        loss = nn.functional.mse_loss(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""
UNCHECKABLE = {
    "binary.py": b"\x7fELF\x02\x01\x01" + bytes(range(256)),
    "nul.py": b"x = 1\n\0\n",
    "latin1.py": b"x = 1\nname = '\xe9'\n",
    "utf16.py": PARALLEL.encode("utf-16"),
    "unknown_encoding.py": b"# coding: klingon\n",
    "syntax.py": b"def f(:\n    pass\n",
    "unclosed.py": b"x = (1,\n",
    "tabs.py": b"if x:\n\ty = 1\n        z = 2\n",
    "python2.py": b"print 'hello'\n",
    "parentheses.py": b"x = " + b"(" * 3_000 + b")" * 3_000 + b"\n",
    "calls.py": b"x = " + b"f(" * 1_500 + b")" * 1_500 + b"\n",
    "attributes.py": b"x = a" + b".b" * 6_000 + b"\n",
    "huge.py": b"#" * (text.MAX_BYTES + 1),
    "broken.ipynb": b'{"cells": [',
    "no_notebook.ipynb": b"[]",
}
CHECKABLE = {
    "empty.py": b"",
    "blank.py": b"\n\n\x0c\n",
    "sum.py": b"x = " + b"1 + " * 20_000 + b"1\n",
    "elif.py": b"if x == 0:\n    pass\n" + b"".join(b"elif x == %d:\n    pass\n" % n for n in range(5_000)),
}
"""May be checked or refused, for a reason, by this or that Python; must not crash any."""
FINE = {
    "declared.py": (b"# coding: latin-1\n'\xe9'; import torch.nn as nn; nn.DataParallel(net)\n", (2, 29)),
    "bom_crlf.py": (b"\xef\xbb\xbf" + PARALLEL.replace("\n", "\r\n").encode(), (2, 9)),
    "no_newline.py": (PARALLEL.rstrip().encode(), (2, 9)),
    "old_mac.py": (PARALLEL.replace("\n", "\r").encode(), (2, 9)),
    "form_feed.py": (PARALLEL.replace("\n", "\n\x0c\n", 1).encode(), (3, 9)),
    "astral.py": ("'🙂'; import torch.nn as nn; nn.DataParallel(net)\n".encode(), (1, 29)),
}
"""Contents, and where the one finding is."""


Lint = Callable[..., dict[str, list[dict[str, object]]]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[tool.torchperf-lint]\n")
    (tmp_path / "model.py").write_text(PARALLEL)
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


@pytest.fixture
def report(project: Path) -> Lint:
    """Runs the command line on paths, by default the whole project, and gives its JSON."""

    def run(*arguments: str, exit_code: int = 2, stdin: str = "") -> dict[str, list[dict[str, object]]]:
        done = _command(project, *arguments, stdin=stdin)
        assert done.returncode == exit_code, (done.stdout[-2000:], done.stderr)
        loaded: dict[str, list[dict[str, object]]] = json.loads(done.stdout)
        return loaded

    return run


def _command(cwd: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint", "--output-format", "json", *(arguments or (".",))],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        encoding="utf-8",
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _fill(directory: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (directory / name).write_bytes(content)


def _paths(entries: list[dict[str, object]]) -> set[object]:
    return {entry["path"] for entry in entries}


def test_what_cannot_be_checked_is_an_error_and_costs_the_other_files_nothing(project: Path, report: Lint) -> None:
    alone = report(exit_code=1)
    assert {(f["path"], f["code"]) for f in alone["findings"]} == {("model.py", "TPL751"), ("train.py", "TPL101")}
    assert alone["errors"] == []
    _fill(project, UNCHECKABLE)
    beside = report()
    assert _paths(beside["errors"]) == UNCHECKABLE.keys()
    assert len(beside["errors"]) == len(UNCHECKABLE)
    assert all(error["reason"] and error["rule"] is None for error in beside["errors"])
    assert beside["findings"] == alone["findings"]


@pytest.mark.parametrize(
    ("name", "line"),
    [("nul.py", 2), ("latin1.py", 2), ("unknown_encoding.py", 1), ("syntax.py", 1), ("python2.py", 1), ("tabs.py", 3)],
)
def test_errors_name_the_line(project: Path, report: Lint, name: str, line: int) -> None:
    _fill(project, {name: UNCHECKABLE[name]})
    (error,) = report(name)["errors"]
    assert (error["path"], error["line"]) == (name, line)


def test_what_is_long_is_checked_or_refused(project: Path, report: Lint) -> None:
    alone = report(exit_code=1)
    _fill(project, {name: content + PARALLEL.encode() for name, content in CHECKABLE.items()})
    done = _command(project)
    beside = json.loads(done.stdout)
    found = {f["path"] for f in beside["findings"] if f["code"] == "TPL751"}
    assert done.returncode == (2 if beside["errors"] else 1)
    assert found | _paths(beside["errors"]) == {"model.py", *CHECKABLE}
    assert not found & _paths(beside["errors"])
    assert {"empty.py", "blank.py"} <= found
    assert [f for f in beside["findings"] if f["path"] not in CHECKABLE] == alone["findings"]


@pytest.mark.parametrize("name", FINE)
def test_what_is_only_unusual_is_checked(project: Path, report: Lint, name: str) -> None:
    content, place = FINE[name]
    _fill(project, {name: content})
    found = report(name, exit_code=1)
    assert [(f["line"], f["column"], f["code"]) for f in found["findings"]] == [(*place, "TPL751")]
    assert found["errors"] == []


def test_what_is_no_file(project: Path, report: Lint) -> None:
    alone = report(exit_code=1)
    (project / "package.py").mkdir()
    (project / "package.py" / "inner.py").write_text(PARALLEL)
    (project / "loop.py").symlink_to("loop.py")
    (project / "around").symlink_to(".", target_is_directory=True)
    (project / "dangling.py").symlink_to("nowhere.py")
    if hasattr(os, "mkfifo"):
        os.mkfifo(project / "pipe.py")
    beside = report()
    assert {"model.py", "train.py", "package.py/inner.py"} == _paths(beside["findings"])
    assert [f for f in beside["findings"] if f["path"] != "package.py/inner.py"] == alone["findings"]
    assert _paths(beside["errors"]) == {"loop.py", "dangling.py"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_file_but_named(project: Path, report: Lint) -> None:
    os.mkfifo(project / "pipe.py")
    (project / "loop.py").symlink_to("loop.py")
    found = report("pipe.py", "loop.py", "missing.py", "model.py")
    assert _paths(found["errors"]) == {"pipe.py", "loop.py", "missing.py"}
    assert _paths(found["findings"]) == {"model.py"}


def test_standard_input_may_be_anything(report: Lint) -> None:
    found = report("--stdin-filename", "a.py", "-", stdin="x = (\n")
    assert [(error["path"], error["line"]) for error in found["errors"]] == [("a.py", 1)]


@pytest.mark.parametrize(
    "config",
    [
        "[tool.torchperf-lint]\nselekt = []\n",
        '[tool.torchperf-lint]\nselect = ["TPL9999"]\n',
        "[tool.torchperf-lint]\nselect = 1\n",
        "[tool.torchperf-lint]\nselect = [\n",
        "[tool]\ntorchperf-lint = 1\n",
    ],
)
def test_a_wrong_configuration_is_a_usage_error(project: Path, config: str) -> None:
    (project / "pyproject.toml").write_text(config)
    done = _command(project)
    assert done.returncode == 2
    assert "pyproject.toml" in done.stderr + done.stdout


def _in_process(project: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.chdir(project)
    return Target(project, Settings(jobs=1, no_cache=True), tuple(sorted(project.glob("*.py"))))


def test_an_unreadable_file_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = project / "secret.py"
    secret.write_text(PARALLEL)
    target = _in_process(project, monkeypatch)
    opened = os.open

    def refuse(path: Path, *arguments: int) -> int:
        if Path(path) == secret:
            raise PermissionError(13, "Permission denied")
        return opened(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)
    found = lint(target)
    assert [(problem.path, problem.reason) for problem in found.problems] == [
        ("secret.py", "cannot be read: permission denied")
    ]
    assert {finding.location.path for finding in found.findings} == {"model.py", "train.py"}


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read every file")
def test_a_file_without_permission_is_an_error(project: Path, report: Lint) -> None:
    secret = project / "secret.py"
    secret.write_text(PARALLEL)
    secret.chmod(stat.S_IWUSR)
    assert _paths(report()["errors"]) == {"secret.py"}


def test_a_rule_that_crashes_is_named_and_costs_only_its_findings_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "both.py").write_text(TRAIN + PARALLEL)
    target = _in_process(project, monkeypatch)
    whole = lint(target)
    (rule,) = (rule for rule in catalog.rule_classes() if rule.code == "TPL101")
    check = rule.check  # type: ignore[attr-defined]

    def crash(self: object, file: object, project: object) -> object:
        if str(getattr(file, "path", "")).endswith("both.py"):
            raise RecursionError("the rule's own fault")
        return check(self, file, project)

    monkeypatch.setattr(rule, "check", crash)
    found = lint(target)
    assert [(problem.path, problem.rule) for problem in found.problems] == [("both.py", "TPL101")]
    lost = [f for f in whole.findings if f not in found.findings]
    assert {(f.location.path, f.code) for f in lost} == {("both.py", "TPL101")}
    assert ("both.py", "TPL751") in {(f.location.path, f.code) for f in found.findings}


def test_a_very_long_sum_is_looked_through(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(
        "import torch\nmodel = torch.nn.Linear(8, 1).cuda()\n"
        "def train(loader, optimizer):\n    for x in loader:\n        loss = model(x.cuda()).mean()\n"
        "        loss.backward()\n        optimizer.step()\n"
        f"        held = torch.full((2, 2), {' + '.join(['loss'] * 900)}, device='cuda')\n",
        encoding="utf-8",
    )
    report = lint(Target(tmp_path, Settings(jobs=1, no_cache=True), (path,)))
    assert not report.problems
    assert ("TPL113", 8) in {(finding.code, finding.location.line) for finding in report.findings}


@pytest.mark.parametrize("terms", [3, 700])
def test_a_very_long_test_is_judged_as_a_short_one(tmp_path, terms):
    """What a rule writes out recursively, `ast.unparse`, gets the stack that it takes."""
    total = " + ".join(f"x[{number}]" for number in range(terms))
    text = "from torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        x = x.abs()\n"
    path = tmp_path / "net.py"
    path.write_text(f"{text}        if {total} > 0:\n            x = x + 1\n        return x\n", encoding="utf-8")
    report = lint(Target(tmp_path, Settings(confidence=Confidence.POSSIBLE, jobs=1, no_cache=True), (path,)))
    assert report.problems == ()
    assert [(finding.code, finding.location.line) for finding in report.findings] == [("TPL102", 7)]
