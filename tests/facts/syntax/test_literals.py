"""Literals among expressions, told apart where Python calls them equal."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.facts.syntax.literals import UNKNOWN, is_false, is_literal, is_none, is_text, is_true, literal_of


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("True", is_true),
        ("False", is_false),
        ("None", is_none),
        ("'a'", is_text),
        ("1", None),
        ("0", None),
        ("b'a'", None),
        ("f'{a}'", None),
        ("a", None),
    ],
)
def test_each_is_one_of_its_kind(text, holds):
    node = ast.parse(text, mode="eval").body
    assert [ask for ask in (is_true, is_false, is_none, is_text) if ask(node)] == ([holds] if holds else [])


def test_nothing_at_all_is_no_literal():
    assert not any(ask(None) for ask in (is_true, is_false, is_none, is_text))
    assert not is_literal(None, None)


@pytest.mark.parametrize(("text", "expected"), [("-1", -1), ("'a'", "a"), ("-a", UNKNOWN), ("not 1", UNKNOWN)])
def test_the_value_of_a_literal(text, expected):
    found = literal_of(ast.parse(text, mode="eval").body)
    assert found is expected or found == expected
