"""What the fixes of each rule make of its `bad.py`: `bad.fixed.py`, byte for byte.

`python tests/fixing.py TPL251` writes it; read what it wrote. The `# expect:` comments stay as they are.
"""

from __future__ import annotations

import ast

import pytest
from expectations import RULE_FOLDERS
from fixing import FIXED, fixed

from torchperf_lint import catalog
from torchperf_lint.rule import SourceRule

FOLDERS = [folder for folder in RULE_FOLDERS if (folder / FIXED).exists()]


def code_of(folder):
    return folder.name[:6].upper()


@pytest.fixture(scope="module", params=FOLDERS, ids=code_of)
def case(request):
    """Code, the text before, what is expected after, and what fixing made."""
    code = code_of(request.param)
    before = (request.param / "bad.py").read_bytes().decode()
    return code, before, (request.param / FIXED).read_bytes().decode(), fixed(before, code)


def test_the_fixes_give_the_text_that_is_expected(case):
    _, before, expected, done = case
    assert done.text == expected
    assert done.text != before
    assert done.report.problems == ()


def test_no_finding_with_a_fix_is_left(case):
    done = case[3]
    assert done.report.fixed
    assert done.fixable == []


def test_a_second_run_changes_nothing(case):
    code, _, expected, _ = case
    again = fixed(expected, code)
    assert again.text == expected
    assert again.report.fixed == ()


def test_the_result_is_python(case):
    ast.parse(case[2])


def test_safe_fixes_alone_change_no_more(case):
    """What is fixed without unsafe fixes is a part of what is fixed with them."""
    code, before, _, done = case
    assert len(fixed(before, code, unsafe=False).report.fixed) <= len(done.report.fixed)


@pytest.mark.parametrize("rule", [r for r in catalog.rule_classes() if issubclass(r, SourceRule)], ids=lambda r: r.code)
def test_a_rule_says_how_safe_its_fix_is(rule):
    """Where there is a fix the documentation grades it; where there is none it says so."""
    says = rule.docs["Fix safety"].lower()
    if rule.code in map(code_of, FOLDERS):
        assert "safe" in says
        assert "there is no automatic fix" not in says
    else:
        assert "no automatic fix" in says or "no fix" in says
