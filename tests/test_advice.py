"""docs/advice.md: every claim of the articles has its line, and every code that it names is there."""

from __future__ import annotations

import re

from expectations import ROOT

from torchperf_lint import catalog

PAGE = (ROOT / "docs" / "advice.md").read_text(encoding="utf-8")
CLAIMS = {0: range(1, 16), 1: range(1, 12), 2: range(1, 9), 3: range(1, 13), 4: range(1, 11)}
"""Article -> its claims, as numbered in the project's catalogue (E3)."""
NOT_FOLLOWED = 45
"""Rows of the catalogue's list of advice that must not be repeated (E2)."""


def rows(text):
    """The cells of the rows of all tables, heads left out."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if line[2:8] not in {"Advice", "Claim "}
    ]


def test_every_claim_of_the_articles_has_one_line():
    numbers = re.findall(r"^\| (\d+)\.(\d+) ", PAGE, re.MULTILINE)
    assert [(int(a), int(b)) for a, b in numbers] == [(a, b) for a, claims in CLAIMS.items() for b in claims]


def test_advice_that_is_not_followed_is_all_there():
    first = PAGE.split("## The five articles")[0]
    assert len(rows(first)) >= NOT_FOLLOWED


def test_every_line_says_what_the_tool_does():
    assert [row for row in rows(PAGE) if len(row) != 3 or not all(row)] == []


def test_every_linked_code_is_a_rule():
    linked = re.findall(r"\[(TPL\d{3})\]\(rules\.md#(tpl\d{3})\)", PAGE)
    assert len(linked) > 80
    assert {code for code, _ in linked} <= catalog.known_codes()
    assert [pair for pair in linked if pair[0].lower() != pair[1]] == []
