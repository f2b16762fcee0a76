"""Answers that are kept are those that would be worked out again."""

import ast
from pathlib import Path

import pytest

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.syntax.enclosing import Enclosing
from torchperf_lint.facts.values.value import Frame
from torchperf_lint.facts.values.values import Values

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures").glob("tpl1*/bad.py"))
PATH = "train.py"
ASKED = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


def questions(project):
    """The expressions of a file, each where it stands."""
    body = project.body(PATH)
    for number, function in body.functions.items():
        for node in Enclosing(function).of_kinds(ASKED):
            yield node, Frame(PATH, number, body.at(node))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.parent.name)
def test_an_answer_is_the_same_whatever_was_asked_before(fixture):
    project = Project.of_texts({PATH: fixture.read_text(encoding="utf-8")})
    asked = list(questions(project))
    found = [project.values.of(node, frame) for node, frame in asked]
    assert found == [project.values.of(node, frame) for node, frame in reversed(asked)][::-1]
    for (node, frame), value in list(zip(asked, found, strict=True))[::3]:
        anew = Values(project.index, project.types, project.hotness, project.body)
        assert anew.of(node, frame) == value, ast.unparse(node)
