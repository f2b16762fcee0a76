"""Every rule: its documentation is true, its fixtures say enough, and a new one is one file and one folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from expectations import FIXTURES, ROOT, asked_for, marks_of, run

import torchperf_lint
from torchperf_lint import catalog
from torchperf_lint.rule import SECTIONS, SourceRule

RULES = catalog.rule_classes()
SOURCE_RULES = [rule for rule in RULES if issubclass(rule, SourceRule)]
PACKAGE = Path(torchperf_lint.__file__).parent
FIRST_CODES = {"TPL001", "TPL101", "TPL103", "TPL105", "TPL201", "TPL251", "TPL301", "TPL302", "TPL401", "TPL751"}
SECONDS = 120


def code(rule):
    return rule.code


def folder_of(rule):
    return FIXTURES / f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def codes_in(source, tmp_path, code):
    """The codes found in a text that is a project of one file, `code` selected; problems are failures."""
    file = tmp_path / "example.py"
    file.write_text(source, encoding="utf-8")
    report = run(tmp_path, [file], asked_for(code))
    assert report.problems == (), source
    return {finding.code for finding in report.findings}


def test_the_rules_are_all_there():
    assert {rule.code for rule in RULES} >= FIRST_CODES


@pytest.mark.parametrize("rule", RULES, ids=code)
def test_a_rule_is_documented(rule):
    assert [title for title in SECTIONS if not rule.docs.get(title, "").strip()] == []


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=code)
@pytest.mark.parametrize("section", ["Example", "Use instead", "When it is fine"])
def test_a_rule_shows_code(rule, section):
    if section != "When it is fine":
        assert rule.examples(section)
    for block in rule.examples(section):
        compile(block, f"{rule.code} {section}", "exec")


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=code)
def test_the_example_fires(rule, tmp_path):
    for block in rule.examples("Example"):
        assert rule.code in codes_in(block, tmp_path, rule.code), block


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=code)
@pytest.mark.parametrize("section", ["Use instead", "When it is fine"])
def test_what_is_recommended_or_fine_does_not_fire(rule, section, tmp_path):
    for block in rule.examples(section):
        assert rule.code not in codes_in(block, tmp_path, rule.code), block


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=code)
def test_bad_py_holds_enough_shapes(rule):
    folder = folder_of(rule)
    marks = marks_of(folder, [folder / "bad.py"])
    shapes = [e for e in (*marks.findings, *marks.related) if e.code == rule.code]  # one finding may have them all
    assert len(shapes) >= 8


@pytest.mark.parametrize("rule", SOURCE_RULES, ids=code)
def test_good_py_holds_enough_near_misses(rule):
    """Lines that a search for the rule's triggers, which are its names and attributes, would hit."""
    words = [trigger.strip(".( ") for trigger in rule.triggers]
    lines = (folder_of(rule) / "good.py").read_text(encoding="utf-8").splitlines()
    assert sum(any(word in line for word in words) for line in lines) >= 10


def test_every_fixture_folder_belongs_to_a_rule():
    assert {path.name for path in FIXTURES.glob("tpl[0-9]*")} <= {folder_of(rule).name for rule in RULES}


NEW_RULE = '''
from __future__ import annotations

from collections.abc import Iterator

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.model import Finding
from torchperf_lint.rule import SourceRule


class SleepInHotLoop(SourceRule):
    """A sleep in a hot loop.

    ## What it does
    Flags a sleep in a hot loop.

    ## Why it is slow
    It sleeps.

    ## Example
    ```python
    x = 1
    ```

    ## Use instead
    ```python
    x = 1
    ```

    ## When it is fine
    Never.

    ## Fix safety
    None.

    ## Confirmed by
    Nothing.

    ## References
    None.
    """

    code, name, since = "TPL199", "sleep-in-hot-loop", "0.1.0"
    triggers = ("time.sleep(",)

    def check(self, file: SourceFile, project: Project) -> Iterator[Finding]:
        del project
        for site in file.calls_of("time.sleep"):
            if site.hot is not None:
                yield self.found(site, message="sleeps", instead="do not", hot=site.hot)
'''
NEW_BAD = """\
import time

import torch.nn.functional as F


def train(model, loader, optimizer):
    for x, y in loader:
        loss = F.mse_loss(model(x.cuda(non_blocking=True)), y.cuda(non_blocking=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(0.1)  # expect: TPL199
"""
NEW_GOOD = "import time\n\ntime.sleep(1)\n"


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, compiled as it is, and of the fixture tests, without any fixture."""
    shutil.copytree(PACKAGE, tmp_path / "torchperf_lint")
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    for name in ("expectations.py", "test_fixtures.py"):
        shutil.copy(ROOT / "tests" / name, tmp_path / "tests" / name)
    return tmp_path


def python(directory, *arguments):
    """Run Python where the package of `directory` comes first."""
    environment = {**os.environ, "PYTHONPATH": str(directory), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def fixture_tests(directory):
    return python(directory, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_fixtures.py")


def add_rule(directory, name="tpl199_sleep_in_hot_loop", source=NEW_RULE):
    (directory / "torchperf_lint" / "rules" / f"{name}.py").write_text(source)


def test_a_new_rule_is_one_file_and_one_folder(copy):
    folder = copy / "fixtures" / "tpl199_sleep_in_hot_loop"
    folder.mkdir(parents=True)
    (folder / "bad.py").write_text(NEW_BAD)
    (folder / "good.py").write_text(NEW_GOOD)
    (folder / "torchperf-lint.toml").write_text("")  # the folder is a project of its own, without our package

    before = fixture_tests(copy)
    assert before.returncode == 1, before.stdout + before.stderr
    assert "missing    TPL199 bad.py:12" in before.stdout

    add_rule(copy)
    after = fixture_tests(copy)
    assert after.returncode == 0, after.stdout + after.stderr
    listed = python(copy, "-m", "torchperf_lint", "--list-rules")
    assert "sleep-in-hot-loop" in listed.stdout
    shown = python(copy, "-m", "torchperf_lint", "--output-format", "concise", "fixtures")
    assert shown.returncode == 1, shown.stderr
    assert "bad.py:12:9: TPL199" in shown.stdout
    assert "good.py" not in shown.stdout


TWICE = NEW_RULE + textwrap.dedent(
    """
    class SecondRule(SourceRule):
        __doc__ = SleepInHotLoop.__doc__
        code, name, since = "TPL199", "sleep-in-hot-loop", "0.1.0"
        triggers = ("time.sleep(",)
    """
)


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("tpl199_sleeping", NEW_RULE, "must stand in a module called tpl199_sleep_in_hot_loop"),
        (
            "tpl199_sleep_in_hot_loop",
            NEW_RULE.replace("## Fix safety", "Fix safety"),
            "docstring lacks the sections Fix safety",
        ),
        (
            "tpl101_sleep_in_hot_loop",
            NEW_RULE.replace("TPL199", "TPL101"),
            "TPL101 sleep-in-hot-loop is used twice",
        ),
        ("tpl199_sleep_in_hot_loop", TWICE, "holds 2 rules, must hold one"),
        ("tpl199_nothing", "x = 1\n", "holds 0 rules, must hold one"),
        (
            "tpl199_sleep_in_hot_loop",
            NEW_RULE.replace('("time.sleep(",)', "()"),
            "`triggers` is missing or empty",
        ),
    ],
)
def test_a_broken_contract_is_refused_with_its_reason(copy, name, source, reason):
    add_rule(copy, name, source)
    program = "from torchperf_lint import catalog; catalog.rule_classes()"
    done = python(copy, "-c", program)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("torchperf_lint.errors.RuleContractError: torchperf_lint.rules.tpl"), done.stderr
    assert reason in last
