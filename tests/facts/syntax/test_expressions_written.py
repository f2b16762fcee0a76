"""Expressions written out, against `ast.unparse`."""

import ast
from pathlib import Path

import pytest

import torchperf_lint
from torchperf_lint.facts.syntax.conditions import words
from torchperf_lint.facts.syntax.expressions_written import as_written

_FOLDER = Path(torchperf_lint.__file__).parent
_WRITTEN = (
    "x.y[0]['a'](b, *c, d=1)",
    "f(not x, a < b < c, i % n == 0, k=a or b)",
    "a and b and not c",
    "a and b == c or d",
    "(a + b) * c",
    "a - (b - c)",
    "not (a == b)",
    "x[-1][1:2, ...]",
    "(1).real + 'a'.join(u'b') + 1e400",
    "f(x for x in y)(**z)((yield))",
    "(a, b)",
    "()",
    "(a,)",
    "f((a, b), [c], (d := e))",
    "x is not None in y",
    "a ** b ** c @ d",
    "lambda: (a, b)",
    "x[:, -1:n, 0][a:b:c][::2][(a,)][()][:]",
    "a == b and c == d and e == f",
    "a == b or c == d or e == f or g == h",
    "not a and not b",
    "not a == b or -x > -1",
    "(-x).y + -(a + b) - -1 * -n",
    "x in [1, 2.5, -3e-9, b'a'] or x in (a + b, [], [c, *d])",
    "f(-(-x), a * b + c, a + b < c)",
    "x[a + b, c < d]",
    "x[a:(b, c)]",
)


@pytest.mark.parametrize("text", _WRITTEN)
def test_what_is_written_is_what_python_writes(text: str) -> None:
    """Of what needs parentheses as well."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.expr):
            assert as_written(node) == ast.unparse(node)


def test_it_is_so_of_whatever_is_written_here() -> None:
    """Of each expression in a tenth of this package."""
    for path in sorted(_FOLDER.rglob("*.py"))[::10]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.expr):
                assert as_written(node) == ast.unparse(node)


def test_a_message_tells_of_several_without_parentheses() -> None:
    """As they stand in the code most often."""
    told = {
        text: words(ast.parse(text, mode="eval").body) for text in ("(a, b.c)", "(a, *b)", "(a,)", "()", "a, (b, c)")
    }
    assert told == {"(a, b.c)": "a, b.c", "(a, *b)": "a, *b", "(a,)": "a,", "()": "", "a, (b, c)": "a, (b, c)"}
