"""Names bound in branches that a setting chooses, tables that are filled by such names, and the first of them."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest
from snippets import IMPORTS

from torchperf_lint.facts.constants.configured import CONFIGURED
from torchperf_lint.facts.constants.constants import constancy
from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame

MODULE = """
class M(nn.Module):
    def __init__(self, config, wide: bool, few=(1, 2), many=(1, 2, 3), known=None):
        super().__init__()
        self.config = config
        self.wide = wide
        self.few = few
        self.many = many
        self.known = known

    def forward(self, x: torch.Tensor, n, rows: list):
{body}
        return answer
"""


def asked(body):
    """What is found of the value of `answer`, in a forward pass."""
    text = IMPORTS + MODULE.format(body=indent(dedent(body).strip(), " " * 8))
    project = Project.of_texts({"a.py": text})
    found = project.body("a.py")
    node = next(
        n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "answer"
    )
    functions = project.index.outlines["a.py"].functions
    index = next(i for i, record in enumerate(functions) if record.name == "forward")
    return constancy(project.values, node.value, Frame("a.py", index, found.at(node.value)))


CHOSEN = """
    if {test}:
        names = self.config.names
    else:
        names = self.config.others
    answer = [self.config.order.index(name) for name in names]
"""


@pytest.mark.parametrize(
    ("test", "kind"),
    [
        ('"names" in self.config', CONFIGURED),
        ("self.wide", CONFIGURED),
        ("not self.config.wide and self.wide", CONFIGURED),
        ("len(self.many) > 2", CONFIGURED),
        ("n", None),
        ("n in rows", None),
        ("self.wide and n > 2", None),
        ("x.sum() > 0", None),
    ],
)
def test_what_a_branch_binds(test, kind):
    assert asked(CHOSEN.format(test=test)) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("names = self.few\nif self.wide:\n    names = self.many\nanswer = [3 * n for n in names]", CONFIGURED),
        ("names = self.few\nif n:\n    names = rows\nanswer = [3 * n for n in names]", None),
        ("try:\n    size = self.wide\nexcept KeyError:\n    size = n\nanswer = [size, 1]", None),
    ],
)
def test_what_else_may_bind_it(body, kind):
    assert asked(body) == kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("answer = list(next(iter(self.config.lags.values())))", CONFIGURED),
        ("answer = [next(iter(self.config.lags)), 1]", CONFIGURED),
        ("answer = list(next(self.config.lags))", None),  # the next one at every step
        ("answer = list(next(iter(rows)))", None),
    ],
)
def test_the_first_of_a_table(body, kind):
    assert asked(body) == kind


FILLED = """
    named = {{lag: {start} for lag in {over}}}
    for name, lag in {of}.items():
        named[lag].append({what})
    for names in named.values():
        answer = [self.config.order.index(name) for name in names]
"""


@pytest.mark.parametrize(
    ("over", "of", "what", "kind"),
    [
        ("self.config.lags", "self.config.of_lag", "name", CONFIGURED),
        ("self.config.lags", "self.config.of_lag", "n", None),
        ("rows", "self.config.of_lag", "name", None),
        ("self.config.lags", "n", "name", None),
    ],
)
def test_a_table_that_is_filled(over, of, what, kind):
    for start in ("[]", "list()"):
        assert asked(FILLED.format(start=start, over=over, of=of, what=what)) == kind
