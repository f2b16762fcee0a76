"""Attributes that an object sets and nothing in the project reads."""

from __future__ import annotations

import ast

import pytest
from snippets import texts

from torchperf_lint.facts.files.kept_unread import is_kept_unread
from torchperf_lint.facts.files.project import Project

KEEPS = """\
class Base(nn.Module):
    pass

class Keeps(Base):
    def forward(self, x):
        self.seen = x
        return x

class Other(nn.Module):
    def forward(self, x):
        self.seen = nn.Identity()
        return self.seen.weight, x.block.seen(x)
"""


def _is_unread(more: str, keeps: str = KEEPS, complete: bool = True) -> bool:
    files = texts({"a.py": keeps, "b.py": "from a import Base, Keeps\n" + more})
    project = Project.of_texts(files, complete)
    functions = project.index.outlines["a.py"].functions
    number = next(n for n, function in enumerate(functions) if function.qualname == "Keeps.forward")
    return is_kept_unread(project, "a.py", number, ast.parse("self.seen", mode="eval").body)


@pytest.mark.parametrize(
    "more",
    [
        "print('what was seen')",
        "def set_to(model, x): model.seen = x",
        "class Third:\n    def show(self): return self.seen",
        "def run(model, x): return model.seen(x)",
    ],
)
def test_what_only_another_class_reads_or_what_is_called_is_unread(more):
    assert _is_unread(more)


@pytest.mark.parametrize(
    "more",
    [
        "def show(model): return model.seen.cpu()",
        "def show(model): return getattr(model, 'seen')",
        "class Below(Keeps):\n    def show(self): return self.seen",
        "def show(self): return self.seen",
    ],
)
def test_what_somebody_may_read_is_not(more):
    assert not _is_unread(more)


def test_a_base_may_read_what_a_class_below_it_sets():
    reads = KEEPS.replace("    pass", "    def show(self): return self.seen", 1)
    assert not _is_unread("print()", reads)


def test_nothing_is_said_where_files_are_out_of_sight():
    assert not _is_unread("print()", complete=False)


def test_a_name_is_no_attribute():
    project = Project.of_texts({"a.py": "def f(x):\n    kept = x\n"})
    assert not is_kept_unread(project, "a.py", 1, ast.parse("kept", mode="eval").body)
