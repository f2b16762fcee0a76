"""Snippets of code held as projects, and the places in them that a comment or an expression points at."""

from __future__ import annotations

import ast
from textwrap import dedent

from torchperf_lint.facts.files.project import Project
from torchperf_lint.facts.hotness.hot import Hot
from torchperf_lint.facts.outlines.records import Position
from torchperf_lint.facts.values.value import Frame, Value

MARK = "# <-"
IMPORTS = """\
import numpy as np
import pandas as pd
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader

"""
"""What snippets about values and hot lines may use without saying so."""


def texts(snippet: str | dict[str, str], imports: str = IMPORTS) -> dict[str, str]:
    """Path -> text; a single text is `a.py`. Every text gets the imports."""
    parts = {"a.py": snippet} if isinstance(snippet, str) else snippet
    return {path: imports + dedent(text).lstrip("\n") for path, text in parts.items()}


def marked(files: dict[str, str], mark: str = MARK) -> tuple[str, Position]:
    """Path and position of the first character of the only line that holds the mark."""
    places = [
        (path, (number, len(line) - len(line.lstrip()) + 1))
        for path, text in files.items()
        for number, line in enumerate(text.splitlines(), 1)
        if mark in line
    ]
    assert len(places) == 1, f"{len(places)} lines are marked"
    return places[0]


def hot_at(snippet: str | dict[str, str]) -> Hot | None:
    """Why the marked line is hot."""
    files = texts(snippet)
    return Project.of_texts(files).hotness.at(*marked(files))


def value_of(snippet: str | dict[str, str], expression: str) -> Value:
    """The value of the last place where an expression is read, in the last file that reads it."""
    files = texts(snippet)
    project = Project.of_texts(files)
    wanted = ast.parse(expression, mode="eval").body
    text = ast.unparse(wanted)
    for path in reversed(files):
        body = project.body(path)
        assert body is not None
        alike = [node for node in ast.walk(ast.parse(files[path])) if type(node) is type(wanted)]
        read = [node for node in alike if not isinstance(getattr(node, "ctx", None), ast.Store)]
        found = [node for node in read if ast.unparse(node) == text]
        if found:
            node = max(found, key=lambda n: (n.lineno, n.col_offset))
            outline = project.index.outlines[path]
            function = outline.regions[project.hotness.innermost(path, body.at(node))].function
            return project.values.of(node, Frame(path, function, body.at(node)))
    raise AssertionError(f"nothing reads {text}")
