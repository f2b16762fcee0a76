"""The flake8 plugin through the real flake8, beside the command line on the same project."""

import argparse
import importlib.metadata
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from torchperf_lint import catalog
from torchperf_lint import lint as lint_module
from torchperf_lint.adapters import flake8 as plugin_module
from torchperf_lint.adapters.flake8 import Plugin

ROOT = Path(__file__).parent.parent
SECONDS = 120
PARALLEL = "import torch.nn as nn\nmodel = nn.DataParallel(nn.Linear(2, 2))\n"
HELPER = """\
class Meter:
    total = 0.0


def add(meter, loss):
    meter.total += loss.item()
"""
TRAIN = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

from pkg.helper import Meter, add


def train(dataset, epochs):
    model = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(dataset, batch_size=8, num_workers=2, pin_memory=True)
    meter, größe = Meter(), 0.0
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        größe += loss.item()
        add(meter, loss)
    return meter, größe
"""
Found = set[tuple[str, int, int, str]]
_LINE = re.compile(r"(?P<path>[^:]+):(?P<line>\d+):(?P<column>\d+): (?P<code>TPL\d+) \S.*")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which flake8 finds this source tree's plugin, installed or not."""
    places = [str(ROOT)]
    try:
        importlib.metadata.distribution("torchperf-lint")
    except importlib.metadata.PackageNotFoundError:
        places.append(str(_as_if_installed(tmp_path_factory.mktemp("site"))))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(places)}


def _as_if_installed(site: Path) -> Path:
    entry = re.search(r'^TPL = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert entry
    info = site / "torchperf_lint-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torchperf-lint\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(f"[flake8.extension]\nTPL = {entry[1]}\n")
    return site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pyproject.toml").write_text("[tool.torchperf-lint]\n")
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "model.py").write_text(PARALLEL)
    (tmp_path / "pkg" / "helper.py").write_text(HELPER)
    (tmp_path / "pkg" / "train.py").write_text(TRAIN, encoding="utf-8")
    return tmp_path


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def flake8(project: Path, environment: dict[str, str]) -> Run:
    """Runs flake8 with two jobs; of other plugins' findings it shows none."""

    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "flake8", "-j", "2", "--extend-ignore=E,W,F,C", *arguments]
        return _run(command, project, environment, stdin)

    return run


@pytest.fixture
def cli(project: Path, environment: dict[str, str]) -> Run:
    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "torchperf_lint", "--output-format", "json", *arguments]
        return _run(command, project, environment, stdin)

    return run


def _run(
    command: list[str], cwd: Path, environment: dict[str, str], stdin: str | None
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        input=stdin,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        encoding="utf-8",
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done


def _printed(done: subprocess.CompletedProcess[str]) -> Found:
    matches = [_LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert all(matches), (done.stdout, done.stderr)
    return {(Path(m["path"]).as_posix(), int(m["line"]), int(m["column"]), m["code"]) for m in matches if m is not None}


def _reported(done: subprocess.CompletedProcess[str]) -> Found:
    report = json.loads(done.stdout)
    assert report["errors"] == []
    return {(f["path"], f["line"], f["column"], f["code"]) for f in report["findings"]}


def _codes(done: subprocess.CompletedProcess[str]) -> set[str]:
    return {code for *_, code in _printed(done)}


def test_names_the_same_places_as_the_command_line(flake8: Run, cli: Run) -> None:
    found = _printed(flake8("."))
    assert found == _reported(cli("."))
    assert ("pkg/model.py", 2, 9, "TPL751") in found
    assert ("pkg/train.py", 18, 18, "TPL101") in found
    assert ("pkg/helper.py", 6, 20, "TPL101") in found


@pytest.mark.parametrize("path", ["pkg/helper.py", "pkg/train.py", "pkg/model.py"])
def test_a_file_alone_answers_as_in_its_project(flake8: Run, path: str) -> None:
    whole = {found for found in _printed(flake8(".")) if found[0] == path}
    assert _printed(flake8(path)) == whole
    assert whole


def test_byte_order_mark_and_crlf_move_no_column(project: Path, flake8: Run, cli: Run) -> None:
    before = _printed(flake8("."))
    path = project / "pkg" / "train.py"
    path.write_bytes(b"\xef\xbb\xbf" + TRAIN.replace("\n", "\r\n").encode())
    assert _printed(flake8(".")) == _reported(cli(".")) == before


def test_reads_what_flake8_gives_it_instead_of_the_file(flake8: Run) -> None:
    typed = HELPER.replace("\n\n", "\n\n\n", 1)
    arguments = ("--stdin-display-name", "pkg/helper.py", "-")
    assert _printed(flake8(*arguments, stdin=typed)) == {("pkg/helper.py", 7, 20, "TPL101")}


SUPPRESSIONS = [
    "# noqa",
    "# noqa: E501,TPL751",
    "# noqa:TPL7",
    "#noqa:TPL751",
    "# torchperf-lint: ignore[TPL751] one GPU only",
    "# torchperf-lint: ignore",
    "\n# torchperf-lint: ignore-file[TPL751]",
    "\n# flake8: noqa",
]


def test_honours_every_suppression_unless_told_not_to(project: Path, flake8: Run, cli: Run) -> None:
    """A file for each, as starting flake8 takes longer than reading them; one without tells that they were read."""
    paths = [f"pkg/suppressed_{number}.py" for number in range(len(SUPPRESSIONS))]
    for path, comment in zip(paths, SUPPRESSIONS, strict=True):
        (project / path).write_text(f"{PARALLEL.rstrip()}  {comment}\n")
    told = {("pkg/model.py", 2, 9, "TPL751")}
    assert _printed(flake8("pkg/model.py", *paths)) == _reported(cli("pkg/model.py", *paths)) == told
    assert _printed(flake8("--disable-noqa", *paths)) == {(path, 2, 9, "TPL751") for path in paths}


def test_a_suppression_behind_a_string_of_several_lines(project: Path, flake8: Run, cli: Run) -> None:
    logged = TRAIN.replace("größe += loss.item()", 'print(f"""\n{loss.item()}\n""")')
    assert logged != TRAIN
    path = project / "pkg" / "train.py"
    path.write_text(logged, encoding="utf-8")
    assert {line for _, line, _, code in _printed(flake8(str(path.relative_to(project)))) if code == "TPL101"} == {19}
    path.write_text(logged.replace('\n""")', '\n""")  # noqa: TPL101'), encoding="utf-8")
    assert _printed(flake8("pkg/train.py")) == _reported(cli("pkg/train.py")) == set()


def test_flags_beat_flake8s_file_which_beats_pyproject(project: Path, flake8: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.torchperf-lint]\nignore = ["TPL751"]\n')
    assert _codes(flake8(".")) == {"TPL101"}
    assert _codes(flake8("--isolated", ".")) == {"TPL101", "TPL751"}
    (project / ".flake8").write_text("[flake8]\nselect = TPL751\n")
    assert _codes(flake8(".")) == {"TPL751"}
    assert _codes(flake8("--select=TPL101", ".")) == {"TPL101"}
    assert _codes(flake8("--isolated", ".")) == {"TPL101", "TPL751"}


def test_our_own_options(project: Path, flake8: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.torchperf-lint]\nseverity = "error"\n')
    assert _codes(flake8(".")) == set()
    assert _codes(flake8("--torchperf-severity=info", ".")) == {"TPL101", "TPL751"}
    (project / ".flake8").write_text("[flake8]\ntorchperf-severity = info\n")
    assert _codes(flake8(".")) == {"TPL101", "TPL751"}
    assert _codes(flake8("--torchperf-severity", "error", ".")) == set()


@pytest.mark.parametrize("arguments", [["--torchperf-severity=loud"], ["--torchperf-target-torch=new"]])
def test_a_wrong_value_is_a_usage_error_of_flake8(flake8: Run, arguments: list[str]) -> None:
    done = flake8(*arguments, ".")
    assert done.returncode == 2
    assert arguments[0].partition("=")[0] in done.stderr


def test_a_wrong_value_in_flake8s_file_too(project: Path, flake8: Run) -> None:
    (project / ".flake8").write_text("[flake8]\ntorchperf-confidence = sure\n")
    done = flake8(".")
    assert done.returncode == 2
    assert "--torchperf-confidence" in done.stderr


@pytest.mark.parametrize("arguments", [["--select=E,F"], ["--extend-ignore=E,W,F,C,TPL"], ["--ignore=T"]])
def test_stays_silent_where_flake8_does_not_want_us(flake8: Run, arguments: list[str]) -> None:
    assert _printed(flake8(*arguments, ".")) == set()


def test_flake8s_per_file_ignores_still_act(flake8: Run) -> None:
    assert _codes(flake8("--per-file-ignores=pkg/model.py:TPL", ".")) == {"TPL101"}


def test_a_wrong_configuration_of_ours_does_not_end_flake8s_run(project: Path, flake8: Run) -> None:
    (project / "pyproject.toml").write_text('[tool.torchperf-lint]\nselekt = ["TPL101"]\n')
    (project / "unused.py").write_text("import os\n")
    done = flake8("--extend-ignore=E,W", ".")
    assert re.findall(r": ([A-Z]+\d+) ", done.stdout) == ["F401"]
    assert done.returncode == 1
    assert "selekt" in done.stderr


def test_tests_and_exclusions_are_left_out_as_on_the_command_line(project: Path, flake8: Run, cli: Run) -> None:
    for name in ("tests", "vendored"):
        (project / name).mkdir()
        (project / name / "test_model.py").write_text(PARALLEL)
    (project / "pyproject.toml").write_text('[tool.torchperf-lint]\nextend-exclude = ["vendored"]\n')
    for given in (["."], ["tests"], ["vendored/test_model.py"]):
        assert _printed(flake8(*given)) == _reported(cli(*given)), given
    assert {path for path, *_ in _printed(flake8("."))} == {"pkg/helper.py", "pkg/model.py", "pkg/train.py"}
    assert _printed(flake8("tests/test_model.py"))


def test_a_project_large_enough_for_processes_of_our_own(project: Path, flake8: Run, cli: Run) -> None:
    for number in range(250):
        (project / "pkg" / f"part{number}.py").write_text("x = 1\n")
    paths = ["pkg/helper.py", "pkg/train.py", "pkg/part0.py"]
    assert _printed(flake8(*paths)) == _reported(cli(*paths)) != set()


def test_what_the_command_line_refuses_is_refused_here(project: Path, flake8: Run) -> None:
    (project / "pkg" / "model.py").write_bytes(b"name = '\xe9'\n" + PARALLEL.encode())
    done = flake8(".")
    assert _codes(done) == {"TPL101"}
    assert "not UTF-8" in done.stderr


def _options(*filenames: str, **settings: object) -> argparse.Namespace:
    names = ("select", "extend_select", "ignore", "extend_ignore")
    ours = (f"torchperf_{option.replace('-', '_')}" for option in plugin_module.OPTIONS)
    unset = dict.fromkeys((*names, *ours))
    return argparse.Namespace(**{**unset, "filenames": filenames, "disable_noqa": False, **settings})


def _violations(path: Path, **settings: object) -> Iterable[tuple[int, int, str, type]]:
    Plugin.parse_options(_options(str(path), **settings))
    return list(Plugin(None, str(path), path.read_text(encoding="utf-8").splitlines(keepends=True)).run())


def test_rules_off_by_default_run_only_when_named_in_full(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    (rule,) = (rule for rule in catalog.rule_classes() if rule.code == "TPL751")
    monkeypatch.setattr(rule, "default", False)
    path = project / "pkg" / "model.py"
    assert _violations(path) == _violations(path, select=["TPL"]) == _violations(path, extend_select=["TPL7"]) == []
    ((line, column, text, kind),) = _violations(path, select=["E", "TPL751"])
    assert (line, column, text[:7], kind) == (2, 8, "TPL751 ", Plugin)
    assert _violations(path, extend_select=["TPL751"])


def test_no_exception_leaves_the_plugin(
    project: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.chdir(project)
    monkeypatch.setattr(lint_module, "lint", fail)
    with caplog.at_level(logging.WARNING, logger=plugin_module.__name__):
        assert _violations(project / "pkg" / "model.py") == []
    (record,) = caplog.records
    assert "could not check" in record.getMessage()
    assert record.exc_info


def test_no_exception_leaves_a_plugin_that_was_not_given_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Plugin, "_host", None)
    assert list(Plugin(None, "a.py", ["x = 1\n"]).run()) == []
