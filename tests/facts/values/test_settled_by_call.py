"""What a function returns for one call, by the literals that settle its branches."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.settled_by_call import returns_of_call

CODE = """
    def table(n, real=False, twice=True, other=None):
        if {test}:
            return "first"
        return "second"

    answer = table({given})
"""


def returned(test, given):
    files = texts(CODE.format(test=test, given=given))
    project = Project.of_texts(files)
    body = project.body("a.py")
    calls = (n for n in ast.walk(ast.parse(files["a.py"])) if isinstance(n, ast.Call))
    call = next(n for n in calls if ast.unparse(n.func) == "table")
    functions = project.index.outlines["a.py"].functions
    index = next(i for i, record in enumerate(functions) if record.name == "table")
    found = returns_of_call(call, body, index, functions[index])
    return found if found is None else [ast.literal_eval(one) for one in found]


@pytest.mark.parametrize(
    ("test", "given", "found"),
    [
        ("real", "n", ["second"]),
        ("real", "n, True", ["first"]),
        ("real", "n, real", ["first", "second"]),
        ("real and twice", "n", ["second"]),
        ("real and n", "n", ["second"]),  # whatever `n` is
        ("n and twice", "n", ["first", "second"]),
        ("real and twice", "n, real=True", ["first"]),
        ("real and twice", "n, real=r", ["first", "second"]),
        ("real or twice", "n", ["first"]),
        ("real or n", "n", ["first", "second"]),
        ("real or not twice", "n", ["second"]),
        ("not real and other is None", "n", ["first"]),
    ],
)
def test_the_returns_of_a_call(test, given, found):
    answer = returned(test, given)
    assert (["first", "second"] if answer is None else answer) == found
