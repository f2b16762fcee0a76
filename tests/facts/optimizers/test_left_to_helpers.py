"""Functions that optimizers leave the update of one parameter to."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.files.source import SourceFile
from torchperf_lint.facts.optimizers.left_to_helpers import helper_of
from torchperf_lint.facts.syntax.syntax import nodes_of

OWN = """\
def outside(p):
    pass

@torch.compile
def compiled(p):
    pass

class Own(torch.optim.Optimizer):
    @staticmethod
    @torch.no_grad()
    def update(p):
        pass

    def step(self, closure=None):
        for p in self.param_groups[0]["params"]:
            {call}
"""


@pytest.mark.parametrize(
    ("call", "name"),
    [
        ("self.update(p)", "update"),
        ("outside(p)", "outside"),
        ("compiled(p)", None),
        ("p.add_(p.grad)", None),
        ("closure(p)", None),
    ],
)
def test_the_function_that_a_turn_calls(call, name):
    files = texts(OWN.format(call=call))
    file = SourceFile(Project.of_texts(files), "a.py", files["a.py"])
    body = file.project.body("a.py")
    assert body is not None
    number = next(n for n, f in body.functions.items() if getattr(f, "name", "") == "step")
    calls = [node for node in nodes_of(body.functions[number]) if isinstance(node, ast.Call)]
    found = helper_of(file, calls[0], number)
    assert (found.name if found is not None else None) == name
