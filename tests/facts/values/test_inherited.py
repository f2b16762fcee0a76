"""What the method that an override replaces says of its parameters."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.values.value import Frame

CODE = """
    from transformers import LogitsProcessor

    class Base:
        def __call__(self, ids: torch.LongTensor, scores: torch.FloatTensor, n: int):
            raise NotImplementedError

    class Middle(Base):
        pass

    class Own(Middle):
        def __call__(self, ids, scores, n, other):
            return scores

        def elsewhere(self, scores):
            return scores

    class Theirs(LogitsProcessor):
        def __call__(self, input_ids, scores):
            return scores
"""


@pytest.mark.parametrize(
    ("function", "name", "kind"),
    [
        ("Own.__call__", "scores", "tensor"),
        ("Own.__call__", "n", "plain"),
        ("Own.__call__", "other", "unknown"),
        ("Own.elsewhere", "scores", "unknown"),
        ("Theirs.__call__", "scores", "tensor"),
    ],
)
def test_a_parameter_of_an_override(function, name, kind):
    project = Project.of_texts(texts(CODE))
    functions = project.index.outlines["a.py"].functions
    number = next(i for i, f in enumerate(functions) if f.qualname == function)
    frame = Frame("a.py", number, (functions[number].end_line, 20))
    node = ast.Name(name, ast.Load(), lineno=frame.at[0], col_offset=20)
    assert project.values.of(node, frame).kind == kind
