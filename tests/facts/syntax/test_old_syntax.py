"""What Python read before 3.7, when `async` was a name like any other."""

from __future__ import annotations

import ast

import pytest

from torchperf_lint.errors import CannotCheck
from torchperf_lint.facts.syntax.syntax import parse


def test_a_copy_that_was_asked_to_be_asynchronous_as_it_was_called_then():
    tree = parse("y = target.cuda(async=True); z = 1\n")
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert [keyword.arg for keyword in call.keywords] == ["non_blocking"]
    assert tree.body[1].col_offset == 29


@pytest.mark.parametrize("text", ["x = f(async=)\n", "x = (async=True\n", "print 'async=True'\n", "async = 1\n"])
def test_what_else_no_python_reads(text):
    with pytest.raises(CannotCheck, match="syntax error"):
        parse(text)
