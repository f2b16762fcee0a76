"""What the README, the changelog and the picture say holds for the version they come with."""

from __future__ import annotations

import html
import re
import runpy
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from expectations import run as lint_files

from torchperf_lint import __version__, catalog
from torchperf_lint.adapters import _arguments
from torchperf_lint.adapters.flake8 import OPTIONS as FLAKE8_OPTIONS
from torchperf_lint.facts.files import suppressions
from torchperf_lint.settings import load

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "fixtures" / "example"
CI = ROOT / ".ci" / "run"
TEXT = re.compile(r"<text[^>]*>(.*?)</text>", re.DOTALL)
NUMBERS = {4: "four", 5: "five", 6: "six", 7: "seven"}


def block(language):
    """The one fenced block in a language."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    return found


def command(name):
    (found,) = re.findall(rf"^<!-- {name}:begin -->\n```sh\n(.*)\n```\n<!-- {name}:end -->$", README, re.MULTILINE)
    return found


@pytest.mark.parametrize("name", ["lint", "test"])
def test_a_command_is_one_line_that_brings_its_own_environment(name):
    assert command(name).startswith("python3 -m venv .venv && .venv/bin/pip install -q ")


@pytest.mark.skipif(not CI.exists() or shutil.which("bash") is None, reason="needs bash, and .ci/run of a checkout")
def test_the_checks_run_the_commands_of_the_readme():
    done = subprocess.run(["bash", str(CI), "--commands"], capture_output=True, text=True, check=True, cwd=ROOT.anchor)
    assert done.stdout.splitlines() == [command("lint"), command("test")]


def test_the_example_shows_as_many_findings_as_promised():
    report = lint_files(EXAMPLE, [EXAMPLE / "train.py"])
    assert report.problems == ()
    codes = [finding.code for finding in report.findings]
    assert len(set(codes)) == len(codes)
    promised = re.search(r"shows (\w+)\s+findings", README)
    assert promised
    assert promised[1] == NUMBERS[len(codes)], codes
    assert (EXAMPLE / "train.py").relative_to(ROOT).as_posix() in command("lint")


def words(svg):
    """The text of a picture without its layout, which other versions of rich may change."""
    return "".join(html.unescape("".join(TEXT.findall(svg))).split())


def test_the_picture_shows_what_a_run_prints_now():
    made = runpy.run_path(str(ROOT / "docs" / "make_report.py"))
    committed = made["PICTURE"].read_text(encoding="utf-8")
    assert words(committed) == words(made["picture"]()), "run `python docs/make_report.py`"
    assert "warningTPL101item-in-hot-loop" in words(committed)
    assert "(docs/report.svg)" in README


def test_the_picture_of_a_run_shows_what_a_report_says_of_its_record_now():
    made = runpy.run_path(str(ROOT / "docs" / "make_report.py"))
    committed = made["RUN"].read_text(encoding="utf-8")
    assert words(committed) == words(made["picture_of_run"]()), "run `python docs/make_report.py`"
    assert "TPL901trainingwaitsfordata" in words(committed)
    assert "(docs/run.svg)" in README


@pytest.mark.parametrize("text", [README, CHANGELOG], ids=["README", "CHANGELOG"])
def test_codes_that_are_mentioned_exist(text):
    mentioned = set(re.findall(r"\bTPL\d+\b", text))
    assert all(catalog.is_selector(code) for code in mentioned), mentioned


def test_the_changelog_names_every_rule_and_the_version():
    assert {rule.code for rule in catalog.rule_classes()} <= set(re.findall(r"TPL\d{3}", CHANGELOG))
    assert re.search(rf"^## {re.escape(__version__)}\b", CHANGELOG, re.MULTILINE)


@pytest.mark.parametrize("text", [README, CHANGELOG], ids=["README", "CHANGELOG"])
def test_flags_that_are_mentioned_exist(text):
    mentioned = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", re.sub(r"<!--.*?-->", "", text)))
    ours = set(re.findall(r"--[a-z][a-z0-9-]*", _arguments.make_parser().format_help()))
    others = {
        "--write",
        "--epochs",
        "--nproc-per-node",
        "--torchperf-simulate",
        *(f"--torchperf-{name}" for name in FLAKE8_OPTIONS),
    }
    assert mentioned <= ours | others


def test_flake8_takes_the_options_shown():
    shown = set(re.findall(r"^torchperf-([\w-]+) =", block("ini"), re.MULTILINE))
    assert shown == set(FLAKE8_OPTIONS)


def test_the_hooks_shown_exist():
    shown = re.findall(r"- id: (\S+)", block("yaml"))
    hooks = ROOT / ".pre-commit-hooks.yaml"
    if not hooks.exists():
        pytest.skip("no checkout")
    text = hooks.read_text(encoding="utf-8")
    assert shown[0] == "torchperf-lint"
    assert [hook for hook in shown if f"- id: {hook}\n" not in text] == []


def test_the_configuration_shown_is_taken(tmp_path):
    (tmp_path / "pyproject.toml").write_text(block("toml"))
    settings = load(tmp_path / "pyproject.toml", {})
    assert settings.target_torch == "2.3"
    assert "TPL101" in settings.ignored_codes_for("scripts/a.py")
    assert "TPL751" not in settings.codes


def test_the_configuration_shown_is_toml():
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    table = toml.loads(block("toml"))["tool"]["torchperf-lint"]
    assert len(table) == 7


def test_the_comments_shown_silence():
    markers = suppressions.parse(block("python")).all
    assert [(marker.line, marker.whole_file, marker.codes) for marker in markers] == [
        (1, False, ("TPL101",)),
        (2, False, ("TPL101",)),
        (3, True, ("TPL101", "TPL105")),
    ]


def test_what_is_shown_of_the_package_is_there():
    shown = set(re.findall(r"torchperf_lint\.(\w+)\(", README + CHANGELOG))
    assert shown == {"no_syncs", "watch", "simulate"}
    assert all(callable(getattr(import_module("torchperf_lint"), name)) for name in shown)


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "docs/rules.md", "docs/prices.md"])
def test_links_within_the_repository_lead_somewhere(page):
    path = ROOT / page
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", path.read_text(encoding="utf-8")):
        if target != ".ci/run" or CI.exists():
            assert (path.parent / target).exists(), target
