from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from fake_rules import ENVIRONMENT, install

from torchperf_lint import catalog, explain
from torchperf_lint.errors import UsageError

ROOT = Path(__file__).parents[1]
STALE = "run `python -m torchperf_lint.explain --write`"


@pytest.fixture
def rules(monkeypatch):
    return install(monkeypatch)


@pytest.mark.parametrize("name", ["docs/rules.md", "README.md"])
def test_the_generated_documentation_is_up_to_date(name):
    path = ROOT / name
    assert path.read_text(encoding="utf-8") == explain.documents(ROOT)[path], STALE


def test_the_page_of_prices_is_that_of_its_record():
    command = [sys.executable, str(ROOT / "benchmarks" / "prices_page.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_prices_are_of_rules_that_there_are():
    page = (ROOT / "docs" / "prices.md").read_text(encoding="utf-8")
    codes = set(re.findall(r"\[(TPL\d+)\]\(rules.md#tpl\d+\)", page))
    assert len(codes) > 30
    assert codes <= catalog.known_codes()


@pytest.mark.usefixtures("rules")
def test_a_rule_is_explained_by_code_or_name():
    text = explain.explain("TPL101")
    title, headline, *rest = text.split("\n\n")
    assert (title, headline) == ("# TPL101 item-in-hot-loop", "A | item-in-hot-loop.")
    assert rest[:2] == ["Severity warning, on by default, since 0.1.0.", "## What it does"]
    assert "```python\n# not a heading\nx = 1\n```" in text
    assert text == explain.explain("tpl101") == explain.explain("item-in-hot-loop")
    assert "Severity info, off by default" in explain.explain("TPL901")
    assert "\x1b[" not in text


@pytest.mark.usefixtures("rules")
def test_a_terminal_gets_colours_and_no_marks():
    text = explain.explain("TPL101", width=60, color=True)
    assert "\x1b[" in text
    assert "```" not in text
    assert "not a heading" in text


@pytest.mark.usefixtures("rules")
@pytest.mark.parametrize(
    ("asked", "nearest"), [("TPL202", "TPL201"), ("item-in-loop", "item-in-hot-loop"), ("tpl9011", "TPL901")]
)
def test_a_rule_that_does_not_exist_names_the_nearest(asked, nearest):
    with pytest.raises(UsageError, match=f"no rule is called '{asked}'; did you mean '{nearest}'"):
        explain.explain(asked)


@pytest.mark.usefixtures("rules")
def test_the_page_of_rules_has_an_anchor_for_every_finding_to_link_to(rules):
    page = explain.rules_markdown()
    for rule in rules:
        assert f'<a id="{rule.url().rpartition("#")[2]}"></a>\n\n## {rule.code} {rule.name}\n' in page
    assert "\n### What it does\n" in page
    assert "\n```python\n# not a heading\n" in page


@pytest.mark.usefixtures("rules")
def test_the_table_has_a_row_for_every_rule():
    rows = explain.rules_table().splitlines()
    assert rows[2] == (
        "| [TPL101](docs/rules.md#tpl101) | item-in-hot-loop | A \\| item-in-hot-loop. | warning | yes |"
    )
    assert rows[5].endswith("| info | no |")
    assert len(rows) == 6


@pytest.mark.usefixtures("rules")
def test_the_readme_keeps_what_is_not_generated(tmp_path):
    readme = tmp_path / "README.md"
    readme.write_text(f"before \\1\n{explain.BEGIN}\nold\n{explain.END}\nafter\n")
    text = explain.documents(tmp_path)[readme]
    assert text == f"before \\1\n{explain.BEGIN}\n{explain.rules_table()}{explain.END}\nafter\n"
    readme.write_text(text)
    assert explain.documents(tmp_path)[readme] == text


@pytest.mark.parametrize("text", ["no markers\n", None])
def test_a_readme_without_a_place_for_the_table_is_refused(tmp_path, text):
    if text is not None:
        (tmp_path / "README.md").write_text(text)
    with pytest.raises(UsageError, match="must hold the lines <!-- rules:begin -->"):
        explain.documents(tmp_path)


def test_writing_must_be_asked_for():
    done = subprocess.run(
        [sys.executable, "-m", "torchperf_lint.explain"], capture_output=True, text=True, check=False, env=ENVIRONMENT
    )
    assert done.returncode == 1
    assert done.stderr == "usage: python -m torchperf_lint.explain --write\n"
