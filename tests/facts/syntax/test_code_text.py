"""The text of a file as code."""

from __future__ import annotations

import time

import pytest

from torchperf_lint.facts.syntax.code_text import without_sentences


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a = 1  # a comment 'of' it", "a = 1  "),
        ("d['a'] = f(d['b'])", "d['a'] = f(d['b'])"),
        ("x = 'two words'", 'x = ""'),
        ("x = 'one'", "x = 'one'"),
        ("x = f'one_{two}'", "x = f'one_{two}'"),
        ("x = f'it is {f(a)} of {b}'", 'x = "" f(a) b '),
        ('"""talk\\nof it"""\\nx'.replace("\\n", "\n"), '""\n\nx'),
        ("a\r\nb\rc", "a\nb\nc"),
        ("it = 'don\\'t do'", 'it = ""'),
    ],
)
def test_what_is_code(text, code):
    assert without_sentences(text) == code


def test_triple_quotes_in_other_strings_open_nothing():
    text = "x.split('QQQ') + f(y) + 'QQQ'".replace("QQQ", '"' * 3)
    assert without_sentences(text) == text


def test_long_lines_take_no_longer_than_they_are():
    def seconds(count):
        text = "T = {'a': [" + "1, " * count + "]}\n"
        start = time.process_time()
        without_sentences(text)
        return time.process_time() - start

    seconds(1000)
    assert seconds(400_000) < 2
